package anabranch

/** Every problem of a record, in the order in which they are judged: the first that applies is the record's.
  *
  * The words are stored in lakes and counted by users: never reword one. `tools/reference/problems.py` reads this file.
  */
object Problem {
  // Of the record as a whole, none of which can be trusted then.
  val NullValue = "null value"
  val Empty = "empty record"
  val NotUtf8 = "not UTF-8"
  val Nul = "NUL character"
  val NotAnObject = "not an object"
  val NotJson = "not JSON"
  val LoneSurrogate = "lone surrogate"
  val MoreThanOne = "more than one object"
  val DuplicateKey = "duplicate key"

  // Of its event time, and of its fields.
  def noTime(time: String): String = s"no $time"
  def aNumber(time: String): String = s"$time is a number"
  def outOfRange(time: String): String = s"$time out of range"
  def notATime(time: String): String = s"$time is not a time"
  def inTheFuture(time: String): String = s"$time in the future"
  def missing(field: String): String = s"no $field"
  def wrongType(field: String): String = s"wrong type: $field"
}
