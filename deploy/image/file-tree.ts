// The files of an image layer, and the layer that they become.
//
// L1. A layer depends on its files only: entries are sorted, belong to root, and have the same time.

import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

/** @param path without a leading `/`. */
export type TreeEntry =
  | { readonly type: 'file'; readonly mode: number; readonly content: Buffer }
  | { readonly type: 'directory'; readonly mode: number }
  | { readonly type: 'symlink'; readonly target: string }

/** Entries by path, without a leading `/`. Folders that have only files may be missing. */
export type FileTree = Map<string, TreeEntry>

export interface Layer {
  readonly bytes: Buffer
  /** `sha256:...` of the compressed and of the uncompressed bytes. */
  readonly digest: string
  readonly diffId: string
  readonly comment: string
}

export function addFile(tree: FileTree, path: string, text: string, mode = 0o644): void {
  tree.set(path, { type: 'file', mode, content: Buffer.from(text) })
}

/** Adds the files below `folder` that `accepts` accepts, by their path relative to `folder`. */
export async function addFolder(
  tree: FileTree,
  { folder, at, accepts }: { folder: string; at: string; accepts: (path: string) => boolean },
): Promise<void> {
  for (const path of await readdir(folder, { recursive: true })) {
    const stat = await lstat(join(folder, path))
    if (stat.isDirectory() || !accepts(path)) continue
    if (stat.isSymbolicLink()) tree.set(`${at}/${path}`, { type: 'symlink', target: await readlink(join(folder, path)) })
    else {
      const mode = (stat.mode & 0o111) === 0 ? 0o644 : 0o755
      tree.set(`${at}/${path}`, { type: 'file', mode, content: await readFile(join(folder, path)) })
    }
  }
}

/** @param time seconds since 1970, of each entry. */
export async function layerOf(tree: FileTree, { time, comment }: { time: number; comment: string }): Promise<Layer> {
  const archive = pack()
  const chunks: Buffer[] = []
  archive.on('data', (chunk) => chunks.push(chunk as Buffer))
  const common = { uid: 0, gid: 0, mtime: new Date(time * 1000) }
  for (const [path, entry] of withFolders(tree)) {
    if (entry.type === 'file') archive.entry({ ...common, name: path, mode: entry.mode }, entry.content)
    else if (entry.type === 'directory') archive.entry({ ...common, name: `${path}/`, type: 'directory', mode: entry.mode })
    else archive.entry({ ...common, name: path, type: 'symlink', linkname: entry.target, mode: 0o777 })
  }
  const ended = new Promise<void>((done, failed) => archive.once('end', done).once('error', failed))
  archive.finalize()
  await ended
  const tar = Buffer.concat(chunks)
  const bytes = gzipSync(tar)
  return { bytes, digest: digestOf(bytes), diffId: digestOf(tar), comment }
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** The entries with the folders that they need, sorted, so that a folder precedes its entries. */
function withFolders(tree: FileTree): readonly (readonly [string, TreeEntry])[] {
  const all = new Map(tree)
  for (const path of tree.keys())
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end)
      if (!all.has(folder)) all.set(folder, { type: 'directory', mode: 0o755 })
    }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1))
}
