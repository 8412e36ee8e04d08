// Tests packed archives in the operator's folder: Pawl reads files from them, and refuses malicious archives.
// Source: packed-archive.ts, tar-entries.ts.

import { randomBytes } from 'node:crypto'
import { rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'
import { afterAll, describe, expect, it } from 'vitest'
import {
  PACKED_LIMITS,
  type PackedLimits,
  PackedArchives,
} from '../../../../activities/landscaper/components/packed-archive.ts'
import { RegistryFolder } from '../../../../activities/landscaper/components/registry-folder.ts'
import { newRegistry, tarOf } from '../../../support/registries/component-registry.ts'

const stage = newRegistry()
afterAll(() => stage.remove())
const MIB = 1024 * 1024

type Entry = Partial<Header> & { readonly name: string; readonly content?: string | Buffer }

/** Creates a tar archive with any entries, including malicious ones. */
async function archiveOf(...entries: readonly Entry[]): Promise<Buffer> {
  const packing = pack()
  for (const { content = '', ...header } of entries) packing.entry(header, content)
  packing.finalize()
  return await buffer(packing)
}

function reader(limits: Partial<PackedLimits> = {}) {
  const archives = new PackedArchives({ ...PACKED_LIMITS, ...limits })
  return async (name: string, path: string, most = MIB) => {
    const version = await (await RegistryFolder.open(stage.folder)).version(name)
    if (version === undefined) throw new Error(`${name} is not there`)
    return (await archives.read({ version, title: `archive ${name}` }, path, most))?.toString()
  }
}

describe.each([
  ['tar', (archive: Buffer) => archive],
  ['tgz', (archive: Buffer) => gzipSync(archive)],
])('an archive packed as %s', (kind, packed) => {
  const name = `whole.${kind}`

  it('returns small and large files unchanged', async () => {
    const large = randomBytes(MIB).toString('hex').slice(0, MIB)
    stage.write({ [name]: packed(tarOf({ 'index.json': '{}', 'blobs/large': large, 'blobs/small': 'é' })) })
    const read = reader()
    expect(await read(name, 'index.json')).toBe('{}')
    expect(await read(name, 'blobs/small')).toBe('é')
    expect(await read(name, 'blobs/large')).toBe(large)
    expect(await read(name, 'blobs/none')).toBeUndefined()
    await expect(read(name, 'blobs/large', 10)).rejects.toThrow(`blobs/large: found ${MIB} bytes; expected at most 10`)
  })

  it('is scanned once for all reads, and again after it changes', async () => {
    stage.write({ [name]: packed(tarOf({ file: 'one' })) })
    const read = reader()
    expect(await Promise.all(Array.from({ length: 20 }, () => read(name, 'file')))).toEqual(Array(20).fill('one'))
    // The cache returns files of a version even after the archive has been removed or replaced.
    const folder = await RegistryFolder.open(stage.folder)
    const version = await folder.version(name)
    const archives = new PackedArchives()
    if (version === undefined) throw new Error('no archive')
    const archive = { version, title: 'archive' }
    await archives.read(archive, 'file', 10)
    rmSync(join(stage.folder, name))
    expect((await archives.read(archive, 'file', 10))?.toString()).toBe('one')
    stage.write({ [name]: packed(tarOf({ file: 'two' })) })
    utimesSync(join(stage.folder, name), 1, 1)
    expect(await read(name, 'file')).toBe('two')
    await expect(new PackedArchives().read(archive, 'file', 10)).rejects.toThrow('archive: changed while it was read')
  })

  it('is read again after the full cache has evicted its files', async () => {
    stage.write({ [name]: packed(tarOf({ a: 'a'.repeat(600), b: 'b'.repeat(600) })) })
    const read = reader({ keptBytes: 700, archives: 1 })
    for (const path of ['a', 'b', 'a', 'b']) expect(await read(name, path)).toBe(path.repeat(600))
  })

  it.each<[string, Entry, string]>([
    ['a link', { name: 'blobs/a', type: 'symlink', linkname: '/etc/passwd' }, 'an entry of type symlink'],
    ['a hard link', { name: 'blobs/a', type: 'link', linkname: 'index.json' }, 'an entry of type link'],
    ['a device', { name: 'blobs/a', type: 'character-device', devmajor: 1, devminor: 5 }, 'of type character-device'],
    ['a pipe', { name: 'blobs/a', type: 'fifo' }, 'an entry of type fifo'],
    ['a path that goes up', { name: 'blobs/../../a', content: 'x' }, 'found a path that leaves the archive'],
    ['a path from the root', { name: '/etc/passwd', content: 'x' }, 'found a path that leaves the archive'],
    ['two files of one name', { name: './index.json', content: '[]' }, 'index.json: found twice; expected once'],
  ])('with %s in it is refused, even when the caller reads another file', async (_, entry, message) => {
    stage.write({ [name]: packed(await archiveOf({ name: 'index.json', content: '{}' }, entry)) })
    await expect(reader()(name, 'index.json')).rejects.toThrow(message)
    await expect(reader()(name, 'index.json')).rejects.toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
  })

  it('is refused when it has too many entries or bytes', async () => {
    const many = Array.from({ length: 6 }, (_, index) => ({ name: `blobs/${index}`, content: 'x' }))
    stage.write({ [name]: packed(await archiveOf(...many)) })
    await expect(reader({ entries: 5 })(name, 'blobs/0')).rejects.toThrow('found more than 5 entries; expected fewer')
    await expect(reader({ bytes: 3000 })(name, 'blobs/0')).rejects.toThrow('found more than 3000 bytes in it')
    expect(await reader({ entries: 6 })(name, 'blobs/0')).toBe('x')
  })

  it('is refused when it is truncated or is not a tar archive', async () => {
    const whole = packed(tarOf({ file: randomBytes(20_000) }))
    for (const content of [whole.subarray(0, 10_000), packed(randomBytes(2000))]) {
      stage.write({ [name]: content })
      await expect(reader()(name, 'file')).rejects.toThrow('expected a whole tar archive, gzipped or not')
    }
    stage.write({ [name]: '' })
    expect(await reader()(name, 'file')).toBeUndefined()
  })
})

describe('a packed archive', () => {
  it('is refused when its unpacked size exceeds the permitted compression ratio', async () => {
    stage.write({ 'bomb.tgz': gzipSync(tarOf({ blobs: Buffer.alloc(8 * MIB) })) })
    await expect(reader({ free: MIB, ratio: 100 })('bomb.tgz', 'blobs')).rejects.toThrow(
      `found more than ${MIB} bytes in it; expected fewer`,
    )
  })

  it('is refused when a size in it is negative, and is read when a GNU name in it has 250 characters', async () => {
    const archive = await archiveOf({ name: 'file', content: 'x' })
    // A negative size in GNU's binary encoding.
    archive.fill(0xff, 124, 136)
    const sum = archive.subarray(0, 512).reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 0x20 : byte), 0)
    archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    stage.write({ 'sizes.tar': archive, 'names.tar': tarOf({ ['n'.repeat(250)]: 'x' }, '--format=gnu') })
    await expect(reader()('sizes.tar', 'file')).rejects.toThrow('expected a whole tar archive')
    expect(await reader()('names.tar', 'n'.repeat(250))).toBe('x')
  })

  it('that takes long to scan fails the first read, and a later read succeeds', async () => {
    stage.write({ 'slow.tgz': gzipSync(tarOf({ blobs: randomBytes(8 * MIB), last: 'x' })) })
    const read = reader({ waitMs: 0 })
    await expect(read('slow.tgz', 'last')).rejects.toThrow('archive slow.tgz: not read after 0 s; Pawl retries')
    await expect.poll(() => read('slow.tgz', 'last').catch(() => undefined), { timeout: 60_000 }).toBe('x')
    await expect(reader({ passMs: 0 })('slow.tgz', 'last')).rejects.toThrow('not read after 0 s')
  })
})
