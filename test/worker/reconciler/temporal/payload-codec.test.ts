import { mkdtempSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { readPayloadKeys, encryptionCodec } from '../../../../worker/reconciler/temporal/payload-codec.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-keys-'))
let files = 0
function keysFile(text: string): string {
  const path = join(folder, String(++files))
  writeFileSync(path, text)
  return path
}
const key = () => randomBytes(32).toString('base64')
const [first, second] = [`first ${key()}`, `second ${key()}`]
const codecOf = (...lines: readonly string[]) => encryptionCodec(readPayloadKeys(keysFile(lines.join('\n'))))
const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"planted"') }

describe('encrypted payloads', () => {
  it('contain no readable data and are decrypted without loss', async () => {
    const codec = codecOf(first)
    const bytes = fc.uint8Array({ maxLength: 300 })
    const metadata = fc.dictionary(fc.constantFrom('encoding', 'messageType', 'x'), bytes)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ metadata, data: bytes })), async (payloads) => {
        const back = await codec.decode(await codec.encode(payloads))
        expect(back.map(({ data }) => Buffer.from(data ?? []))).toEqual(payloads.map(({ data }) => Buffer.from(data)))
        expect(back.map((one) => Object.keys(one.metadata ?? {}).sort())).toEqual(
          payloads.map((one) => Object.keys(one.metadata).sort()),
        )
      }),
    )
    const [sealed] = await codec.encode([payload])
    expect(Buffer.from(sealed?.data ?? []).toString('latin1')).not.toContain('planted')
    expect(Buffer.from(sealed?.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted')
    expect((await codec.encode([payload]))[0]?.data).not.toEqual(sealed?.data)
  })

  it('are decrypted with any key of the file during a key rotation', async () => {
    const sealed = await codecOf(first).encode([payload])
    const [back] = await codecOf(second, '', '# the former one', first).decode(sealed)
    expect(Buffer.from(back?.data ?? []).toString()).toBe('"planted"')
    expect(await codecOf(second).decode([payload])).toEqual([payload])
    await expect(codecOf(second).decode(sealed)).rejects.toThrow(
      'a payload is encrypted by key first; found second; expected this key in the file',
    )
  })

  it('are decrypted, but not created, with a file that starts with "readable"', async () => {
    const codec = codecOf('# not yet', 'readable', first, second)
    expect(await codec.encode([payload])).toEqual([payload])
    for (const one of [first, second]) {
      const [back] = await codec.decode(await codecOf(one).encode([payload]))
      expect(Buffer.from(back?.data ?? []).toString()).toBe('"planted"')
    }
  })

  it('are rejected after a change of their bytes', async () => {
    const codec = codecOf(first)
    const [sealed] = await codec.encode([payload])
    const data = Buffer.from(sealed?.data ?? [])
    data[20] = (data[20] ?? 0) ^ 1
    await expect(codec.decode([{ ...sealed, data }])).rejects.toThrow()
  })
})

describe('a file of payload keys', () => {
  it.each([
    ['', 'has no key; expected a line with a name and 32 bytes in base64'],
    ['readable', 'has no key; expected a line with a name and 32 bytes in base64'],
    [`${first}\nreadable`, 'line 2: found 1 words; expected a name and a key'],
    ['alone', 'line 1: found 1 words; expected a name and a key'],
    [`${first} more`, 'line 1: found 3 words; expected a name and a key'],
    [`${first}\na c2hvcnQ=`, 'line 2: found a key of 5 bytes; expected 32 in base64'],
    [`${first}\nfirst ${key()}`, 'line 2: found a second key first; expected each name once'],
  ])('is refused: %#', (text, message) => {
    expect(() => readPayloadKeys(keysFile(text))).toThrow(message)
  })
})
