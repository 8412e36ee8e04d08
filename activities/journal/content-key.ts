// The key of content hashes. The key is stored outside the journal, so that a copy of the journal does not allow
// guessing short secrets by their hashes.

import { createHmac, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hashedContent, type Path } from '../../workflows/kit/index.ts'

const KEY_BYTES = 32

/**
 * Reads the key, or creates it: a file of mode 0600 with 64 hexadecimal digits. Processes that create it at the same
 * time all use the first file.
 *
 * @throws when the file has other content. A damaged key is never replaced, because every stored hash would change.
 */
export async function loadOrCreateContentKey(path: string): Promise<Buffer> {
  const existing = await readKey(path)
  if (existing !== undefined) return existing

  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    // Unlike rename, link fails if the name exists, and the file appears complete or not at all.
    await link(draft, path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await unlink(draft)
  }
  const made = await readKey(path)
  if (made === undefined)
    throw new Error(`content key ${path}: another process deleted the file while it was being created`)
  return made
}

/** HMAC-SHA256 over the content at `paths`; undefined without a key, or if the object has no content there. */
export function contentHash(object: object, paths: readonly Path[], key: Buffer | undefined): string | undefined {
  if (key === undefined || paths.length === 0) return undefined
  const content = hashedContent(object, paths)
  return content === undefined ? undefined : createHmac('sha256', key).update(content).digest('base64url')
}

async function readKey(path: string): Promise<Buffer | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const digits = text.trim()
  if (!/^[0-9a-f]{64}$/.test(digits)) {
    throw new Error(`content key ${path}: found ${digits.length} characters; expected 64 hexadecimal digits`)
  }
  return Buffer.from(digits, 'hex')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
