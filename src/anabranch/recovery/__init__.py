"""Operations of any kind: their plans and receipts in words, and how an interrupted one is finished."""
