import { describe, expect, it } from 'vitest'

import { readBody } from '../../../activities/kube/http-client.ts'

/** Of these parts; says how it was left. */
function bodyOf(...parts: readonly string[]) {
  const left: string[] = []
  async function* chunks() {
    try {
      for (const part of parts) yield await Promise.resolve(Buffer.from(part))
      left.push('at its end')
    } finally {
      left.push('closed')
    }
  }
  return { body: chunks(), left }
}
const excess = () => new RangeError('too long')

describe('the body of an answer', () => {
  it('is read completely up to the limit', async () => {
    const { body, left } = bodyOf('ab', 'c')
    expect((await readBody(body, 3, excess)).toString()).toBe('abc')
    expect(left).toEqual(['at its end', 'closed'])
  })

  it('is refused as soon as it exceeds the limit', async () => {
    const { body, left } = bodyOf('ab', 'cd', 'ef')
    await expect(readBody(body, 3, excess)).rejects.toThrow('too long')
    expect(left).toEqual(['closed'])
  })
})
