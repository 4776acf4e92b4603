package anabranch

import java.time.{LocalDate, LocalDateTime, YearMonth, ZoneId, ZoneOffset}

/** Times and dates as text: which texts are one, and the instant or day that they name.
  *
  * A time is `2025-09-04T07:00[:00[.1 to 9 digits]]` with T or a blank, then nothing, `Z`, `+02`, `+0200` or `+02:00`. What is
  * finer than a microsecond is cut off. Spark's own cast would read 07:00:00 as today, 2025 as a day, and the word `now`.
  */
object Times {
  /** No instant, and the time of a record that has none. */
  final val Unknown = Long.MinValue
  final val NoDay = Int.MinValue
  private final val Micros = 1000000L
  private final val MostOffsetMinutes = 18 * 60

  /** 1970 to 9998, in UTC: Python and sinks stop at 9999. */
  private val endUs = LocalDate.of(9999, 1, 1).atStartOfDay(ZoneOffset.UTC).toEpochSecond * Micros

  def isEventTime(instant: Long): Boolean = instant >= 0 && instant < endUs

  /** Of a time that is not the record's own: the years 2 to 9998 as written, in no zone one that Python does not have. */
  def anyInstant(text: Array[Char], start: Int, length: Int, zone: ZoneId): Long = {
    val year = number(text, start, start + length, 0, 4)
    if (year < 2 || year > 9998) Unknown else instant(text, start, length, zone)
  }

  /** Microseconds from the epoch. A text without a zone is in `zone`: a local time that it skips moves on by the gap, of one
    * that it has twice the first counts, as in java.time. */
  def instant(text: Array[Char], start: Int, length: Int, zone: ZoneId): Long = {
    val end = start + length
    val day = civilDay(text, start, end)
    val hour = number(text, start, end, 11, 2)
    val minute = number(text, start, end, 14, 2)
    if (day == NoDay || hour < 0 || hour > 23 || minute < 0 || minute > 59 || text(start + 13) != ':') return Unknown
    if (text(start + 10) != 'T' && text(start + 10) != ' ') return Unknown
    var at = start + 16
    var second = 0
    var micros = 0
    if (at < end && text(at) == ':') {
      second = number(text, start, end, 17, 2)
      if (second < 0 || second > 59) return Unknown
      at += 3
      if (at < end && text(at) == '.') {
        val first = at + 1
        at = first
        while (at < end && isDigit(text(at))) {
          if (at - first < 6) micros = micros * 10 + (text(at) - '0')
          at += 1
        }
        if (at == first || at - first > 9) return Unknown
        var digits = at - first
        while (digits < 6) { micros *= 10; digits += 1 }
      }
    }
    val local = day * 86400L + hour * 3600 + minute * 60 + second
    val shift = if (at == end) offsetOf(local, zone) else writtenOffset(text, at, end)
    if (shift == NoDay) Unknown else (local - shift) * Micros + micros
  }

  /** Days from the epoch, years 1 to 9999. */
  def day(text: Array[Char], start: Int, length: Int): Int =
    if (length != 10 || number(text, start, start + length, 0, 4) == 0) NoDay else civilDay(text, start, start + length)

  private def civilDay(text: Array[Char], start: Int, end: Int): Int = {
    val year = number(text, start, end, 0, 4)
    val month = number(text, start, end, 5, 2)
    val day = number(text, start, end, 8, 2)
    if (year < 0 || month < 1 || month > 12 || day < 1 || text(start + 4) != '-' || text(start + 7) != '-') NoDay
    else if (day > 28 && day > YearMonth.of(year, month).lengthOfMonth) NoDay
    else LocalDate.of(year, month, day).toEpochDay.toInt
  }

  private def offsetOf(local: Long, zone: ZoneId): Int = {
    val rules = zone.getRules
    rules.getOffset(LocalDateTime.ofEpochSecond(local, 0, ZoneOffset.UTC)).getTotalSeconds
  }

  /** In seconds; NoDay: it is none. */
  private def writtenOffset(text: Array[Char], at: Int, end: Int): Int = {
    val sign = text(at)
    if (sign == 'Z') return if (at + 1 == end) 0 else NoDay
    if (sign != '+' && sign != '-') return NoDay
    val hours = number(text, at, end, 1, 2)
    val minutes = end - at match {
      case 3 => 0
      case 5 => number(text, at, end, 3, 2)
      case 6 if text(at + 3) == ':' => number(text, at, end, 4, 2)
      case _ => -1
    }
    if (hours < 0 || minutes < 0 || minutes > 59 || hours * 60 + minutes > MostOffsetMinutes) return NoDay
    val seconds = (hours * 60 + minutes) * 60
    if (sign == '-') -seconds else seconds
  }

  /** So many digits, from there on; -1: they are not there. */
  private def number(text: Array[Char], start: Int, end: Int, from: Int, digits: Int): Int = {
    if (start + from + digits > end) return -1
    var value = 0
    var at = start + from
    while (at < start + from + digits) {
      if (!isDigit(text(at))) return -1
      value = value * 10 + (text(at) - '0')
      at += 1
    }
    value
  }

  private def isDigit(char: Char): Boolean = char >= '0' && char <= '9'
}
