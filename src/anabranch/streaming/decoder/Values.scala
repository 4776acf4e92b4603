package anabranch

import java.math.{BigDecimal, RoundingMode}
import java.time.ZoneId
import java.util.{HashMap, HashSet}

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What makes a record untrustworthy as a whole, seen on the way through the values that are read. */
final class Faults {
  var hasNul, hasHalfCharacter, hasKeyTwice = false

  /** Passes a value that is not taken: its strings and keys count all the same. The parser is at its first token. */
  def pass(parser: JsonParser): Unit = parser.currentToken match {
    case JsonToken.VALUE_STRING => look(parser.getText)
    case JsonToken.START_ARRAY => while (parser.nextToken() != JsonToken.END_ARRAY) pass(parser)
    case JsonToken.START_OBJECT =>
      val keys = new HashSet[String]
      var key = parser.nextFieldName()
      while (key != null) {
        passKey(key, keys)
        parser.nextToken()
        pass(parser)
        key = parser.nextFieldName()
      }
    case _ =>
  }

  def passKey(key: String, keys: HashSet[String]): Unit = {
    look(key)
    if (!keys.add(key)) hasKeyTwice = true
  }

  def look(text: String): Unit = {
    var at = 0
    while (at < text.length) {
      val char = text.charAt(at)
      if (char == 0) hasNul = true
      if (Character.isSurrogate(char)) {
        val isPair = Character.isHighSurrogate(char) && at + 1 < text.length && Character.isLowSurrogate(text.charAt(at + 1))
        if (isPair) at += 1 else hasHalfCharacter = true
      }
      at += 1
    }
  }
}

/** Reads a value of one type of a schema. */
abstract class ValueReader extends Serializable {
  /** The parser is at the value's first token, which is not null, and is left at its last. Wrong: the type does not take it. */
  def read(parser: JsonParser, faults: Faults): AnyRef

  protected final def wrong(parser: JsonParser, faults: Faults): AnyRef = {
    faults.pass(parser)
    ValueReader.Wrong
  }
}

object ValueReader {
  object Wrong

  def of(dataType: DataType, zone: ZoneId): ValueReader = dataType match {
    case StringType => new TextReader(takesIntegers = false)
    case IntegerType => IntReader
    case LongType => LongReader
    case DoubleType => DoubleReader
    case BooleanType => BooleanReader
    case decimal: DecimalType => new DecimalReader(decimal.precision, decimal.scale)
    case TimestampType => new TimeReader(zone)
    case DateType => DateReader
    case ArrayType(element, _) => new ArrayReader(of(element, zone))
    case MapType(_, value, _) => new MapReader(of(value, zone))
    case struct: StructType => new StructReader(struct, zone)
    case other => throw new IllegalArgumentException(s"no reader for ${other.sql}") // pipeline/schema.py lets none through
  }

  def array(values: Array[AnyRef]): GenericArrayData = new GenericArrayData(values.asInstanceOf[Array[Any]])

  /** The text of a string token. */
  def text(parser: JsonParser, faults: Faults): UTF8String = {
    val chars = parser.getTextCharacters
    val start = parser.getTextOffset
    val length = parser.getTextLength
    val bytes = new Array[Byte](length)
    var at = 0
    while (at < length) {
      val char = chars(start + at)
      if (char == 0 || char >= 128) {
        val text = new String(chars, start, length)
        faults.look(text)
        return UTF8String.fromString(text)
      }
      bytes(at) = char.toByte
      at += 1
    }
    UTF8String.fromBytes(bytes)
  }
}

/** With `takesIntegers` the digits of an integer of any length are the text. */
final class TextReader(takesIntegers: Boolean) extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = parser.currentToken match {
    case JsonToken.VALUE_STRING => ValueReader.text(parser, faults)
    case JsonToken.VALUE_NUMBER_INT if takesIntegers =>
      val digits = parser.getText
      UTF8String.fromString(if (digits == "-0") "0" else digits)
    case _ => wrong(parser, faults)
  }
}

object IntReader extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    val isInt = parser.currentToken == JsonToken.VALUE_NUMBER_INT && parser.getNumberType == JsonParser.NumberType.INT
    if (isInt) Int.box(parser.getIntValue) else wrong(parser, faults)
  }
}

object LongReader extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    val isLong = parser.currentToken == JsonToken.VALUE_NUMBER_INT && parser.getNumberType != JsonParser.NumberType.BIG_INTEGER
    if (isLong) Long.box(parser.getLongValue) else wrong(parser, faults)
  }
}

/** Any number that is finite as a double. */
object DoubleReader extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef =
    if (!parser.currentToken.isNumeric) wrong(parser, faults)
    else {
      val value = parser.getDoubleValue
      if (java.lang.Double.isFinite(value)) Double.box(value) else ValueReader.Wrong
    }
}

object BooleanReader extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef =
    if (parser.currentToken.isBoolean) Boolean.box(parser.getBooleanValue) else wrong(parser, faults)
}

/** Any number, rounded half up; none that has more digits before the point than the type. */
final class DecimalReader(precision: Int, scale: Int) extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef =
    if (!parser.currentToken.isNumeric) wrong(parser, faults)
    else {
      val text = parser.getText
      try fitted(new BigDecimal(text))
      catch { case _: NumberFormatException => beyondExponents(text) }
    }

  private def fitted(number: BigDecimal): AnyRef =
    // Before it is written out: 1e999999999 would fill the memory with zeros.
    if (number.signum == 0 || digitsBefore(number) < -scale) zero
    else if (digitsBefore(number) > precision - scale) ValueReader.Wrong
    else {
      val rounded = number.setScale(scale, RoundingMode.HALF_UP)
      if (digitsBefore(rounded) > precision - scale) ValueReader.Wrong else Decimal(rounded, precision, scale)
    }

  /** A new one each time: Spark changes a Decimal's precision in place. */
  private def zero: Decimal = Decimal(BigDecimal.ZERO, precision, scale)

  /** Of a number whose exponent, of ten digits or more, no BigDecimal holds: 1e99999999999. */
  private def beyondExponents(text: String): AnyRef = {
    val (digits, exponent) = text.span(char => char != 'e' && char != 'E')
    val isZero = !digits.exists(char => char >= '1' && char <= '9')
    if (isZero || exponent(1) == '-') zero else ValueReader.Wrong
  }

  /** Of the point; 0.01 has -1. */
  private def digitsBefore(number: BigDecimal): Long = number.precision.toLong - number.scale
}

final class TimeReader(zone: ZoneId) extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    val instant =
      if (parser.currentToken != JsonToken.VALUE_STRING) Times.Unknown
      else Times.anyInstant(parser.getTextCharacters, parser.getTextOffset, parser.getTextLength, zone)
    if (instant == Times.Unknown) wrong(parser, faults) else Long.box(instant)
  }
}

object DateReader extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    val day =
      if (parser.currentToken != JsonToken.VALUE_STRING) Times.NoDay
      else Times.day(parser.getTextCharacters, parser.getTextOffset, parser.getTextLength)
    if (day == Times.NoDay) wrong(parser, faults) else Int.box(day)
  }
}

final class ArrayReader(element: ValueReader) extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    if (parser.currentToken != JsonToken.START_ARRAY) return wrong(parser, faults)
    val values = Array.newBuilder[AnyRef]
    var isWrong = false
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      val value = if (parser.currentToken == JsonToken.VALUE_NULL) null else element.read(parser, faults)
      if (value eq ValueReader.Wrong) isWrong = true
      values += value
    }
    if (isWrong) ValueReader.Wrong else ValueReader.array(values.result())
  }
}

final class MapReader(element: ValueReader) extends ValueReader {
  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    if (parser.currentToken != JsonToken.START_OBJECT) return wrong(parser, faults)
    val keys, values = Array.newBuilder[AnyRef]
    val seen = new HashSet[String]
    var isWrong = false
    var key = parser.nextFieldName()
    while (key != null) {
      faults.passKey(key, seen)
      keys += UTF8String.fromString(key)
      val value = if (parser.nextToken() == JsonToken.VALUE_NULL) null else element.read(parser, faults)
      if (value eq ValueReader.Wrong) isWrong = true
      values += value
      key = parser.nextFieldName()
    }
    if (isWrong) ValueReader.Wrong
    else new ArrayBasedMapData(ValueReader.array(keys.result()), ValueReader.array(values.result()))
  }
}

/** Other keys than the schema's are passed. */
final class StructReader(schema: StructType, zone: ZoneId) extends ValueReader {
  private val readers = schema.fields.map(field => ValueReader.of(field.dataType, zone))
  private val isRequired = schema.fields.map(!_.nullable)
  private val numbers = new HashMap[String, Integer]
  schema.fieldNames.zipWithIndex.foreach { case (name, number) => numbers.put(name, number) }

  override def read(parser: JsonParser, faults: Faults): AnyRef = {
    if (parser.currentToken != JsonToken.START_OBJECT) return wrong(parser, faults)
    val values = new Array[AnyRef](readers.length)
    val isSeen = new Array[Boolean](readers.length)
    var others: HashSet[String] = null
    var isWrong = false
    var key = parser.nextFieldName()
    while (key != null) {
      val token = parser.nextToken()
      val number = numbers.get(key)
      if (number == null) {
        if (others == null) others = new HashSet[String]
        faults.passKey(key, others)
        faults.pass(parser)
      } else {
        if (isSeen(number)) faults.hasKeyTwice = true
        isSeen(number) = true
        if (token != JsonToken.VALUE_NULL) {
          val value = readers(number).read(parser, faults)
          if (value eq ValueReader.Wrong) isWrong = true else values(number) = value
        }
      }
      key = parser.nextFieldName()
    }
    if (isWrong || isRequired.indices.exists(number => isRequired(number) && values(number) == null)) ValueReader.Wrong
    else new GenericInternalRow(values.asInstanceOf[Array[Any]])
  }
}
