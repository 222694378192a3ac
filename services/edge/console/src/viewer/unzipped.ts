// Opens an archive only if what it holds, unzipped, stays within a bound: a small file can unzip to gigabytes.
import JSZip from "jszip";

/** Bytes up to which the parts of a file, unzipped, are drawn. */
const MOST = 50_000_000;

/** Return the archive; throw if its parts together unzip to too much, whatever sizes it states. */
export async function unzipped(file: Blob): Promise<JSZip> {
  const zip = await JSZip.loadAsync(file);
  let read = 0;
  for (const part of Object.values(zip.files)) read = await counted(part, read);
  return zip;
}

/** Return the bytes of a part, added to those before it; stop unzipping it at the bound. */
function counted(part: JSZip.JSZipObject, before: number): Promise<number> {
  let read = before;
  return new Promise((resolve, reject) => {
    const stream = (part as Streamed).internalStream("uint8array");
    stream.on("data", (bytes) => {
      read += bytes.length;
      if (read <= MOST) return;
      stream.pause();
      reject(new Error("too large unzipped"));
    }).on("error", reject).on("end", () => resolve(read)).resume();
  });
}

/** JSZip documents this method, but its types leave it out. */
interface Streamed extends JSZip.JSZipObject {
  internalStream(type: "uint8array"): JSZip.JSZipStreamHelper<Uint8Array>;
}
