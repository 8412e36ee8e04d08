import { describe, expect, it } from 'vitest'

import { secretRef, secretText, takeSecrets } from '../../../../../workflows/kit/index.ts'

const password = secretRef('db', 'password')

describe('a value of a Secret', () => {
  it('is replaced by a gap with the reference to the Secret', () => {
    const url = secretText`postgres://app:${password}@${'db'}/shop`
    expect(takeSecrets({ data: { url, list: ['a', password] }, other: 1 })).toEqual({
      value: { data: { url: '', list: ['a', ''] }, other: 1 },
      gaps: [
        { at: ['data', 'url'], parts: ['postgres://app:', { secret: 'db', key: 'password' }, '@', 'db', '/shop'] },
        { at: ['data', 'list', 1], parts: [{ secret: 'db', key: 'password' }] },
      ],
    })
  })

  it('is created by code only, never by JSON in an object', () => {
    const { gaps } = takeSecrets({ url: secretRef('db', 'password', 'ops') })
    const written = JSON.parse(JSON.stringify({ spec: gaps })) as object
    expect(takeSecrets(written)).toEqual({ value: written, gaps: [] })
  })

  it('throws when it is serialized where no activity fills it in', () => {
    expect(() => JSON.stringify({ url: password })).toThrow('a secretRef is used as text')
  })
})
