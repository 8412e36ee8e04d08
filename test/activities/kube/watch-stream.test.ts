import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  needsList,
  parseMessage,
  parseStatus,
  readLines,
  readMessages,
  InvalidWatchMessage,
  WatchSilent,
} from '../../../activities/kube/watch-stream.ts'

async function* chunked(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    const until = Math.max(from, Math.min(cut, bytes.length))
    yield await Promise.resolve(bytes.subarray(from, until))
    from = until
  }
}

const bookmark = (version: unknown) =>
  JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: version } } })

describe('the lines of a body', () => {
  it('are the same wherever the chunks are cut', async () => {
    const texts = fc.array(
      fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== '' && !/[\n]/.test(text)),
      { maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat(200)), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const read: string[] = []
        for await (const line of readLines(
          chunked(
            bytes,
            cuts.sort((left, right) => left - right),
          ),
        ))
          read.push(line)
        expect(read).toEqual(lines)
      }),
    )
  })

  it('leave out an incomplete last line', async () => {
    const read: string[] = []
    for await (const line of readLines(chunked(Buffer.from('whole\nhal'), [3]))) read.push(line)
    expect(read).toEqual(['whole'])
  })
})

describe('a watch connection that falls silent', () => {
  it('ends and is closed', async () => {
    let closed = false
    async function* silent(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${bookmark('7')}\n`)
      await new Promise(() => undefined)
    }
    const messages = readMessages(silent(), 20, () => (closed = true))
    expect((await messages.next()).value).toEqual({ type: 'bookmark', resourceVersion: 7 })
    await expect(messages.next()).rejects.toThrow(WatchSilent)
    expect(closed).toBe(true)
  })
})

describe('a line of a watch', () => {
  it.each([
    '',
    '[]',
    'null',
    '{',
    '{"type":"ADDED"}',
    '{"type":"NEW","object":{}}',
    bookmark('x'),
    bookmark(undefined),
    bookmark('-1'),
  ])('is refused when it is %s', (line) => {
    expect(() => parseMessage(line)).toThrow(InvalidWatchMessage)
  })

  it('never appears in the error, because it may hold a secret', () => {
    expect(() => parseMessage('{"data":"canary"')).toThrow(expect.not.stringContaining('canary') as string)
  })
})

describe('a refusal', () => {
  it.each([
    [{ code: 410, reason: 'Gone' }, true],
    [{ code: 410, reason: 'Expired' }, true],
    [{ code: 504, reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }, true],
    [{ code: 504, reason: 'Timeout' }, false],
    [{ code: 500, reason: 'InternalError' }, false],
  ])('%j asks for a list: %s', (status, expected) => {
    expect(needsList(parseStatus(JSON.stringify(status)))).toBe(expected)
  })

  it('of a proxy without a Status has reason Unknown', () => {
    expect(parseStatus('<html>bad gateway')).toEqual({
      code: 0,
      reason: 'Unknown',
      message: '',
      retryAfterMs: undefined,
    })
  })
})
