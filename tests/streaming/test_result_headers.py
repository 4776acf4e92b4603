"""Which results a rewound stream emits again, and which of them were corrected since, by their headers."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.streaming.result_headers import emitted_and_corrected, operation_headers, stream_headers


@dataclass(frozen=True)
class Result:
    key_text: str
    headers: dict[str, str]

    def header(self, name: str) -> str | None:
        return self.headers.get(name)


def test_a_result_is_corrected_if_its_latest_record_is_not_from_the_stream() -> None:
    corrected = operation_headers("p", "reprocess", "op")
    results = [
        Result("early", stream_headers("p", 2)),
        Result("early", corrected),
        Result("kept", stream_headers("p", 3)),
        Result("again", stream_headers("p", 3)),
        Result("again", corrected),
        Result("again", stream_headers("p", 4)),
        Result("corrected", stream_headers("p", 4)),
        Result("of another pipeline", stream_headers("q", 4)),
        Result("without headers", {}),
        Result("corrected", corrected),
    ]
    assert emitted_and_corrected(results, "p", 3) == ({"kept", "again", "corrected"}, {"corrected"})
