//! Exports as Parquet: uncompressed, a row group a page, what is written handed on at once.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::Form;
use crate::evaluation::EvaluationResult;
use crate::evaluation::verdict::Cell;
use storage::error::{Error, Result};

pub struct Parquet {
    writer: SerializedFileWriter<Vec<u8>>,
}

impl Parquet {
    pub fn new() -> Result<Self> {
        let schema = Arc::new(schema().map_err(failed)?);
        let properties = Arc::new(WriterProperties::builder().build());
        let writer = SerializedFileWriter::new(Vec::new(), schema, properties).map_err(failed)?;
        Ok(Parquet { writer })
    }

    /// Takes the bytes written since the last call.
    fn written(&mut self) -> Result<Vec<u8>> {
        self.writer.flush().map_err(|e| Error::Internal(e.to_string()))?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }
}

impl Form for Parquet {
    fn head(&mut self) -> Result<Vec<u8>> {
        self.written()
    }

    fn page(&mut self, verdicts: &[EvaluationResult]) -> Result<Vec<u8>> {
        let rows: Vec<_> = verdicts.iter().map(EvaluationResult::exported).collect();
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut index = 0;
        while let Some(mut column) = group.next_column().map_err(failed)? {
            let cells: Vec<Cell<'_>> = rows.iter().map(|row| row[index].1).collect();
            write_column(&mut column, &cells).map_err(failed)?;
            column.close().map_err(failed)?;
            index += 1;
        }
        group.close().map_err(failed)?;
        self.written()
    }

    fn foot(&mut self) -> Result<Vec<u8>> {
        self.writer.finish().map_err(failed)?;
        self.written()
    }
}

fn failed(error: ParquetError) -> Error {
    Error::Internal(format!("a Parquet file could not be written: {error}"))
}

fn schema() -> std::result::Result<Type, ParquetError> {
    let blank = EvaluationResult::default();
    let fields = blank.exported().map(|(name, cell)| {
        let (physical, repetition) = match cell {
            Cell::Text(_) | Cell::Words(_) => (Physical::BYTE_ARRAY, Repetition::OPTIONAL),
            Cell::Integer(_) => (Physical::INT64, Repetition::OPTIONAL),
            Cell::Number(_) => (Physical::DOUBLE, Repetition::OPTIONAL),
            Cell::Flag(_) => (Physical::BOOLEAN, Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        let field = match cell {
            Cell::Text(_) | Cell::Words(_) => field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8),
            _ => field,
        };
        field.build().map(Arc::new)
    });
    let fields = fields.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
    Type::group_type_builder("verdict").with_fields(fields).build()
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    cells: &[Cell<'_>],
) -> std::result::Result<(), ParquetError> {
    // Null has definition level 0, a value 1; flags are never null.
    let levels: Vec<i16> = cells
        .iter()
        .map(|cell| match cell {
            Cell::Text(text) => i16::from(text.is_some()),
            Cell::Integer(number) => i16::from(number.is_some()),
            Cell::Number(number) => i16::from(number.is_some()),
            Cell::Flag(_) => 0,
            Cell::Words(_) => 1,
        })
        .collect();
    macro_rules! write {
        ($kind:ty, $cell:pat => $value:expr, $levels:expr) => {{
            let values: Vec<_> = cells
                .iter()
                .filter_map(|cell| if let $cell = cell { $value } else { None })
                .collect();
            column.typed::<$kind>().write_batch(&values, $levels, None)?;
        }};
    }
    match cells.first() {
        Some(Cell::Text(_)) => {
            write!(ByteArrayType, Cell::Text(text) => text.map(ByteArray::from), Some(&levels));
        }
        Some(Cell::Words(_)) => {
            write!(
                ByteArrayType,
                words @ Cell::Words(_) => Some(ByteArray::from(words.joined().into_bytes())),
                Some(&levels)
            );
        }
        Some(Cell::Integer(_)) => {
            write!(Int64Type, Cell::Integer(number) => *number, Some(&levels));
        }
        Some(Cell::Number(_)) => {
            write!(DoubleType, Cell::Number(number) => *number, Some(&levels));
        }
        Some(Cell::Flag(_)) => write!(BoolType, Cell::Flag(flag) => Some(*flag), None),
        None => {}
    }
    Ok(())
}
