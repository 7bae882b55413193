//! A model in a folder: a table of token vectors (`*.safetensors`) and its tokenizer (`tokenizer.json`). A text's
//! vector is the mean of its tokens' vectors. Nothing is fetched.

use std::fs;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use super::{EmbedderError, Result};

pub struct Model {
    name: String,
    tokenizer: Tokenizer,
    dimensions: usize,
    table: Vec<f32>,
}

impl Model {
    pub fn load(directory: &Path) -> std::result::Result<Self, String> {
        let place = directory.display();
        let tokenizer = Tokenizer::from_file(directory.join("tokenizer.json"))
            .map_err(|e| format!("{place}/tokenizer.json: {e}"))?;
        let file = weights_file(directory)?;
        let bytes = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let (table, dimensions) =
            read_table(&bytes).map_err(|problem| format!("{}: {problem}", file.display()))?;
        let digest = hex::encode(&Sha256::digest(&bytes)[..6]);
        Ok(Model { name: format!("local-{digest}"), tokenizer, dimensions, table })
    }

    /// Says which weights made a vector.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn embed(&self, text: &str) -> Result<Vec<f32>> {
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|e| EmbedderError(format!("the text cannot be tokenized: {e}")))?;
        let mut sum = vec![0.0; self.dimensions];
        for id in encoding.get_ids() {
            let start = *id as usize * self.dimensions;
            // A token beyond the table has no vector; it adds nothing.
            if let Some(vector) = self.table.get(start..start + self.dimensions) {
                for (total, value) in sum.iter_mut().zip(vector) {
                    *total += value;
                }
            }
        }
        Ok(sum)
    }
}

/// The one file of weights in the folder.
fn weights_file(directory: &Path) -> std::result::Result<PathBuf, String> {
    let place = directory.display();
    let entries = fs::read_dir(directory).map_err(|e| format!("{place}: {e}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "safetensors"))
        .collect();
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => Ok(file),
        (None, _) => Err(format!("{place}: there is no .safetensors file")),
        (Some(_), false) => Err(format!("{place}: there is more than one .safetensors file")),
    }
}

/// The largest table of vectors in the file, and how long its vectors are.
fn read_table(bytes: &[u8]) -> std::result::Result<(Vec<f32>, usize), String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let tables = file.tensors().into_iter().filter(|(_, t)| t.shape().len() == 2);
    let (name, table) =
        tables.max_by_key(|(_, t)| t.shape()[0]).ok_or("there is no table of vectors in it")?;
    let pairs = || table.data().as_chunks::<2>().0.iter().copied();
    let values: Vec<f32> = match table.dtype() {
        Dtype::F32 => {
            let words = table.data().as_chunks::<4>().0.iter();
            words.map(|word| f32::from_le_bytes(*word)).collect()
        }
        Dtype::F16 => pairs().map(|pair| f16::from_le_bytes(pair).to_f32()).collect(),
        Dtype::BF16 => pairs().map(|pair| bf16::from_le_bytes(pair).to_f32()).collect(),
        other => return Err(format!("{name} is {other:?}; F32, F16 and BF16 are read")),
    };
    let dimensions = table.shape()[1];
    if dimensions == 0 || dimensions > super::DIMENSIONS {
        return Err(format!("{name} has {dimensions} dimensions"));
    }
    Ok((values, dimensions))
}
