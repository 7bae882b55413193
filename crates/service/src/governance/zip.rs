//! An archive written as it goes: files are stored as they are, sizes and checksums follow them, nothing is kept but
//! the list of files. Sizes are always written in 64 bits, so no export is too large.

use crc32fast::Hasher;

/// Sizes follow the data; names are UTF-8.
const FLAGS: u16 = 0x0808;
const VERSION: u16 = 45;
/// 1 January 1980: an archive of the same rows is the same archive.
const DATE: u16 = 0x0021;

#[derive(Default)]
pub struct Zip {
    offset: u64,
    files: Vec<File>,
    checksum: Hasher,
}

struct File {
    name: String,
    offset: u64,
    size: u64,
    checksum: u32,
}

impl Zip {
    pub fn begin(&mut self, name: &str, out: &mut Vec<u8>) {
        let start = out.len();
        self.checksum = Hasher::new();
        out.extend(0x0403_4b50_u32.to_le_bytes());
        common(name, 0, 20, out);
        out.extend_from_slice(name.as_bytes());
        sizes(&[0, 0], out);
        self.files.push(File { name: name.to_owned(), offset: self.offset, size: 0, checksum: 0 });
        self.offset += (out.len() - start) as u64;
    }

    pub fn data(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.checksum.update(bytes);
        out.extend_from_slice(bytes);
        self.offset += bytes.len() as u64;
        if let Some(file) = self.files.last_mut() {
            file.size += bytes.len() as u64;
        }
    }

    pub fn end(&mut self, out: &mut Vec<u8>) {
        let checksum = std::mem::take(&mut self.checksum).finalize();
        let Some(file) = self.files.last_mut() else { return };
        file.checksum = checksum;
        out.extend(0x0807_4b50_u32.to_le_bytes());
        out.extend(checksum.to_le_bytes());
        out.extend(file.size.to_le_bytes());
        out.extend(file.size.to_le_bytes());
        self.offset += 24;
    }

    /// The list of files, after all of them.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        for file in &self.files {
            out.extend(0x0201_4b50_u32.to_le_bytes());
            out.extend(VERSION.to_le_bytes());
            common(&file.name, file.checksum, 28, out);
            // Comment, disk and attributes; the place is among the sizes.
            out.extend([0; 10]);
            out.extend(u32::MAX.to_le_bytes());
            out.extend_from_slice(file.name.as_bytes());
            sizes(&[file.size, file.size, file.offset], out);
        }
        let length = (out.len() - start) as u64;
        let (count, list) = (self.files.len() as u64, self.offset);
        out.extend(0x0606_4b50_u32.to_le_bytes());
        out.extend(44_u64.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 8]);
        for number in [count, count, length, list] {
            out.extend(number.to_le_bytes());
        }
        out.extend(0x0706_4b50_u32.to_le_bytes());
        out.extend([0; 4]);
        out.extend((list + length).to_le_bytes());
        out.extend(1_u32.to_le_bytes());
        out.extend(0x0605_4b50_u32.to_le_bytes());
        out.extend([0; 4]);
        out.extend([0xff; 12]);
        out.extend([0; 2]);
    }
}

/// Fields that the local and the central header of a file share, up to the length of its extra field.
fn common(name: &str, checksum: u32, extra: u16, out: &mut Vec<u8>) {
    for number in [VERSION, FLAGS, 0, 0, DATE] {
        out.extend(number.to_le_bytes());
    }
    out.extend(checksum.to_le_bytes());
    out.extend([0xff; 8]);
    out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
    out.extend(extra.to_le_bytes());
}

/// The extra field with the sizes in 64 bits.
fn sizes(numbers: &[u64], out: &mut Vec<u8>) {
    out.extend(1_u16.to_le_bytes());
    out.extend(u16::try_from(8 * numbers.len()).unwrap_or(0).to_le_bytes());
    for number in numbers {
        out.extend(number.to_le_bytes());
    }
}
