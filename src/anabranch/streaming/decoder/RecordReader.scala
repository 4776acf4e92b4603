package anabranch

import java.util.{HashMap, HashSet}

import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonParser, JsonToken}
import com.fasterxml.jackson.core.{JsonProcessingException, StreamReadConstraints}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Reads one record by its topic's schema, in one pass, or names the first problem that it has.
  *
  * What it says depends on nothing but the record, its topic and the parameters. It never throws, whatever the bytes are.
  * docs/internals/decoder.md has the rules.
  */
final class RecordReader(
    schema: StructType,
    eventTime: String,
    keysOf: String => Array[String],
    takesIntegers: String => Boolean,
    zone: String,
    futureToleranceUs: Long
) extends Serializable {
  import RecordReader._

  private val noTime = Problem.noTime(eventTime)
  private val zoneId = DateTimeUtils.getZoneId(zone)
  private val count = schema.length
  private val names = schema.fieldNames
  private val isRequired = schema.fields.map(!_.nullable)
  private val timeNumber = schema.fieldIndex(eventTime)
  private val readers = schema.fields.map { field =>
    if (takesIntegers(field.name)) new TextReader(takesIntegers = true) else ValueReader.of(field.dataType, zoneId)
  }
  private val keys = new HashMap[String, Key]
  for ((name, number) <- names.zipWithIndex; (key, rank) <- keysOf(name).zipWithIndex)
    keys.put(key, new Key(keys.size, number, rank))

  def read(value: Array[Byte], recordTimeUs: Long): InternalRow = {
    val row = new Array[AnyRef](count + 1)
    val problem = problemOf(value, recordTimeUs, row)
    if (problem != null) row(count) = UTF8String.fromString(problem)
    new GenericInternalRow(row.asInstanceOf[Array[Any]])
  }

  override def toString: String = s"a topic of ${names.mkString(", ")}"

  private def problemOf(value: Array[Byte], recordTimeUs: Long, row: Array[AnyRef]): String = {
    if (value == null) return Problem.NullValue
    val start = firstNonBlank(value, 0)
    if (start == value.length) return Problem.Empty
    if (!UTF8String.fromBytes(value).isValid) return Problem.NotUtf8
    if (value(start) != '{') return notAnObject(value)
    // Jackson would take it for UTF-16.
    if (start + 1 < value.length && value(start + 1) == 0) return notJson(value)
    val faults = new Faults
    var timeProblem: String = null
    try {
      val parser = factory.createParser(value, start, value.length - start)
      try {
        timeProblem = readFields(parser, faults, row)
        if (faults.hasNul) return broken(row, Problem.Nul)
        if (faults.hasHalfCharacter) return broken(row, Problem.LoneSurrogate)
        val end = start + parser.currentLocation.getByteOffset.toInt
        if (firstNonBlank(value, end) < value.length) return broken(row, Problem.MoreThanOne)
        if (faults.hasKeyTwice) return broken(row, Problem.DuplicateKey)
      } finally parser.close()
    } catch {
      case _: JsonProcessingException => return broken(row, notJson(value))
    }
    val fieldProblem = wrongField(row)
    if (timeProblem != null) timeProblem
    else if (isAhead(row(timeNumber).asInstanceOf[Long], recordTimeUs)) Problem.inTheFuture(eventTime)
    else fieldProblem
  }

  /** Fills the row, and says what is wrong with the event time. The parser is left at the end of the object. */
  private def readFields(parser: JsonParser, faults: Faults, row: Array[AnyRef]): String = {
    val isSeen = new Array[Boolean](keys.size)
    val ranks = new Array[Int](count)
    var others: HashSet[String] = null
    var timeProblem = noTime
    parser.nextToken()
    var name = parser.nextFieldName()
    while (name != null) {
      val token = parser.nextToken()
      val key = keys.get(name)
      if (key == null) {
        if (others == null) others = new HashSet[String]
        if (!others.add(name)) faults.hasKeyTwice = true
        parser.skipChildren()
      } else {
        if (isSeen(key.number)) faults.hasKeyTwice = true
        isSeen(key.number) = true
        val field = key.field
        if (token != JsonToken.VALUE_NULL) {
          // An alias counts where the field's own key is missing or null.
          if (ranks(field) != 0 && ranks(field) <= key.rank + 1) faults.pass(parser)
          else {
            ranks(field) = key.rank + 1
            if (field == timeNumber) timeProblem = readEventTime(parser, faults, row)
            else row(field) = readers(field).read(parser, faults)
          }
        }
      }
      name = parser.nextFieldName()
    }
    timeProblem
  }

  private def readEventTime(parser: JsonParser, faults: Faults, row: Array[AnyRef]): String = {
    row(timeNumber) = null
    if (parser.currentToken.isNumeric) return Problem.aNumber(eventTime)
    if (parser.currentToken != JsonToken.VALUE_STRING) {
      faults.pass(parser)
      return Problem.notATime(eventTime)
    }
    val instant = Times.instant(parser.getTextCharacters, parser.getTextOffset, parser.getTextLength, zoneId)
    if (Times.isEventTime(instant)) {
      row(timeNumber) = Long.box(instant)
      null
    } else if (instant != Times.Unknown) Problem.outOfRange(eventTime)
    else {
      val text = parser.getText
      faults.look(text)
      if (aNumber.matches(text)) Problem.aNumber(eventTime)
      else if (aWideYear.findPrefixOf(text).isDefined) Problem.outOfRange(eventTime)
      else Problem.notATime(eventTime)
    }
  }

  /** Against the record's own time, so that a replay judges an event as the first run did. As doubles: that may be any long. */
  private def isAhead(instant: Long, recordTimeUs: Long): Boolean = {
    val isGuarded = recordTimeUs != Times.Unknown && futureToleranceUs != Long.MaxValue
    isGuarded && instant.toDouble - recordTimeUs.toDouble > futureToleranceUs
  }

  /** Of several the first in the schema's order. A value that is wrong becomes null. */
  private def wrongField(row: Array[AnyRef]): String = {
    var problem: String = null
    var field = count - 1
    while (field >= 0) {
      if (row(field) eq ValueReader.Wrong) {
        row(field) = null
        problem = Problem.wrongType(names(field))
      } else if (isRequired(field) && row(field) == null) problem = Problem.missing(names(field))
      field -= 1
    }
    problem
  }
}

object RecordReader {
  /** A key of a field: its number among all keys, and its rank among the field's. */
  private final class Key(val number: Int, val field: Int, val rank: Int) extends Serializable

  /** Limits of depth and digits are Jackson's own. A name that collides with others is no fault of the record's. */
  private val factory: JsonFactory = new JsonFactoryBuilder()
    .streamReadConstraints(
      StreamReadConstraints.builder().maxStringLength(Int.MaxValue).maxNameLength(Int.MaxValue).build()
    )
    .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
    .build()

  private val aNumber = "-?[0-9.]+(E-?[0-9]+)?".r
  private val aWideYear = "([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]".r

  private def firstNonBlank(bytes: Array[Byte], start: Int): Int = {
    var at = start
    while (at < bytes.length && isBlank(bytes(at))) at += 1
    at
  }

  private def isBlank(byte: Byte): Boolean = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'

  /** Nothing that such a record says can be trusted. */
  private def broken(row: Array[AnyRef], problem: String): String = {
    java.util.Arrays.fill(row, null)
    problem
  }

  private def notJson(value: Array[Byte]): String = if (value.contains(0.toByte)) Problem.Nul else Problem.NotJson

  private def notAnObject(value: Array[Byte]): String =
    if (value.contains(0.toByte) || !isOneValue(value)) notJson(value) else Problem.NotAnObject

  /** In brackets, so that Jackson does not guess an encoding from the first bytes. */
  private def isOneValue(value: Array[Byte]): Boolean =
    try {
      val parser = factory.createParser('['.toByte +: value :+ ']'.toByte)
      try {
        parser.nextToken()
        var values = 0
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          values += 1
          parser.skipChildren()
        }
        values == 1 && parser.nextToken() == null
      } finally parser.close()
    } catch {
      case _: JsonProcessingException => false
    }
}
