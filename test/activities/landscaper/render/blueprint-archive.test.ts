// Blueprints in tar archives: archives from the tar command of the system, and malicious archives.

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unpackArchive, MAX_BYTES } from '../../../../activities/landscaper/render/blueprint/blueprint-files.ts'
import { tarOf } from '../../../support/registries/component-registry.ts'
import { data } from '../tenant-data.ts'

const LONG = `${'d'.repeat(90)}/${'e'.repeat(120)}/${'f'.repeat(90)}.yaml`
const FILES = {
  'blueprint.yaml': 'kind: Blueprint\n',
  'templates/items.yaml': 'a: \u{1F600}',
  [LONG]: 'long',
  empty: '',
}

const problemOf = (archive: Buffer): string => {
  try {
    unpackArchive(archive)
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

/** One header of POSIX.1-2017 with its content. */
function entry(name: string, content = '', type = '0', size = content.length): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write(size.toString(8).padStart(11, '0'), 124)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512)
  body.write(content)
  return Buffer.concat([header, body])
}

describe('the archive of a blueprint', () => {
  it.each([
    ['in the POSIX format', ['--format=posix']],
    ['in the GNU format', ['--format=gnu']],
    ['with gzip', ['--gzip']],
  ])('%s is unpacked with its long names', (_, flags) => {
    expect(unpackArchive(tarOf(FILES, ...flags))).toEqual(FILES)
  })

  it('keeps the bytes of binary files', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0, 1])
    const expected = { 'blueprint.yaml': '', 'store.jks': { base64: bytes.toString('base64') } }
    const archive = tarOf({ 'blueprint.yaml': '', 'store.jks': bytes })
    expect(unpackArchive(archive)).toEqual(expected)
    const large = Buffer.alloc(1_000_000, bytes)
    expect(await data.archive(gzipSync(tarOf({ 'store.jks': large })))).toEqual({
      'store.jks': { base64: large.toString('base64') },
    })
  })

  it('counts the bytes of binary files against the size limit', () => {
    expect(Object.keys(unpackArchive(tarOf({ a: Buffer.alloc(MAX_BYTES - 100, 0xff) })) ?? {})).toEqual(['a'])
    expect(problemOf(tarOf({ a: Buffer.alloc(MAX_BYTES, 0xff) }))).toContain(`found more than ${MAX_BYTES} bytes`)
  })

  it('is read in a thread when it is large, with the same result', async () => {
    const files = { 'blueprint.yaml': 'x'.repeat(1_000_000) }
    expect(await data.archive(gzipSync(tarOf(files)))).toEqual(files)
    expect(await data.archive(tarOf(FILES))).toEqual(FILES)
  })

  it.each<[string, Buffer, string]>([
    ['a path that goes up', entry('../evil', 'x'), '"../evil": found a path that leaves the blueprint'],
    ['a path that goes up inside', entry('a/../../evil', 'x'), 'found a path that leaves the blueprint'],
    ['a symbolic link', entry('link', '', '2'), '"link": found an entry of type 2; expected a file or a directory'],
    ['a hard link', entry('link', '', '1'), '"link": found an entry of type 1'],
    ['a device', entry('null', '', '3'), '"null": found an entry of type 3'],
    ['a missing end', entry('a', 'x', '0', 5000), '"a": found its end missing; expected a whole archive'],
    ['a negative size', entry('a', '', '0', -1), '"a": found its end missing'],
    ['many levels', entry('a/'.repeat(48) + 'b', 'x'), 'none'],
    [
      'contents other than a tar archive',
      Buffer.alloc(2048, 'x'),
      'found something else; expected a tar archive, gzipped or not',
    ],
    [
      'truncated gzip data',
      gzipSync(tarOf(FILES)).subarray(0, 100),
      'found gzip that cannot be unpacked (Z_BUF_ERROR)',
    ],
  ])('with %s does no harm', (_, archive, message) => {
    expect(problemOf(archive)).toContain(message)
  })

  it('that unpacks to too many bytes or too many files is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(400 * 1024 * 1024))
    expect(bomb.length).toBeLessThan(1024 * 1024)
    expect(problemOf(bomb)).toBe('found more than 16777216 bytes when unpacked; expected fewer')
    await expect(data.archive(bomb)).rejects.toThrow('found more than 16777216 bytes when unpacked')
    expect(problemOf(entry('a', 'x'.repeat(9 * 1024 * 1024)))).toBe(
      'found more than 8388608 bytes in its files; expected fewer',
    )
    const many = Buffer.concat(Array.from({ length: 5001 }, (_, index) => entry(`f${index}`)))
    expect(problemOf(many)).toBe('found more than 5000 files; expected fewer')
  })
})
