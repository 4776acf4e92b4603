package anabranch

import com.fasterxml.jackson.databind.json.JsonMapper
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block.BlockHelper
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StringType, StructType}

/** A Kafka record's value and timestamp as one struct: the fields of its topic's schema, then `_problem`.
  *
  * One expression, so that a plan of it is small, and compiled with what stands around it. decode.py makes the column.
  */
case class Decode(left: Expression, right: Expression, dataType: DataType, reader: RecordReader) extends BinaryExpression {
  override def nullable: Boolean = false
  // A record without a value is one with a problem.
  override def nullIntolerant: Boolean = false
  override def prettyName: String = "decode"

  override def eval(input: InternalRow): Any = {
    val time = right.eval(input)
    reader.read(left.eval(input).asInstanceOf[Array[Byte]], if (time == null) Times.Unknown else time.asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val held = ctx.addReferenceObj("reader", reader, classOf[RecordReader].getName)
    val value = left.genCode(ctx)
    val time = right.genCode(ctx)
    val record = s"${value.isNull} ? null : ${value.value}"
    val recordTime = s"${time.isNull} ? Long.MIN_VALUE : ${time.value}"
    ev.copy(
      code = code"""
        ${value.code}
        ${time.code}
        final InternalRow ${ev.value} = $held.read($record, $recordTime);""",
      isNull = FalseLiteral
    )
  }

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): Expression =
    copy(left = newLeft, right = newRight)
}

object Decode {
  private val mapper = JsonMapper.builder().build()

  /** `topic`: the JSON that decode.py writes. */
  def of(value: Expression, recordTime: Expression, topic: String): Decode = {
    val said = mapper.readTree(topic)
    val names = said.get("keys")
    val tolerance = said.get("future_tolerance_us")
    val schema = StructType.fromDDL(said.get("schema").asText())
    val reader = new RecordReader(
      schema = schema,
      eventTime = said.get("event_time").asText(),
      keysOf = name => Array.tabulate(names.get(name).size())(number => names.get(name).get(number).asText()),
      takesIntegers = name => said.get("integers_as_text").valueStream().anyMatch(_.asText() == name),
      zone = said.get("zone").asText(),
      futureToleranceUs = if (tolerance.isNull) Long.MaxValue else tolerance.asLong()
    )
    Decode(value, recordTime, nullable(schema.add("_problem", StringType)), reader)
  }

  /** Anything may be null in a record that has a problem. */
  private def nullable(dataType: DataType): DataType = dataType match {
    case StructType(fields) => StructType(fields.map(field => field.copy(dataType = nullable(field.dataType), nullable = true)))
    case ArrayType(element, _) => ArrayType(nullable(element))
    case MapType(key, value, _) => MapType(key, nullable(value))
    case scalar => scalar
  }
}
