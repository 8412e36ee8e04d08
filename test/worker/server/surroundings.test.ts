import { describe, expect, it } from 'vitest'

import { checkedKey } from '../../../worker/server/shared-settings.ts'

describe('the content key', () => {
  it('is needed by whoever runs controllers in level mode, of the user or of a wing', () => {
    expect(() => checkedKey(undefined, 'controller timeTable in level mode', 'a file')).toThrow(
      '--content-key is missing beside controller timeTable in level mode; expected a file',
    )
    expect(checkedKey('key', 'controller timeTable in level mode', 'a file')).toBe('key')
  })

  it('may be missing beside jobs', () => {
    expect(checkedKey(undefined, undefined, 'a file')).toBeUndefined()
  })
})
