import { describe, expect, it } from 'vitest'

import { checkedContentKey } from '../../../worker/server/shared-settings.ts'

describe('the content key', () => {
  it('is needed by whoever runs controllers in level mode, of the user or of a wing', () => {
    expect(() => checkedContentKey(undefined, 'controller timeTable in level mode', 'a file')).toThrow(
      '--content-key is missing beside controller timeTable in level mode; expected a file',
    )
    expect(checkedContentKey('key', 'controller timeTable in level mode', 'a file')).toBe('key')
  })

  it('may be missing beside jobs', () => {
    expect(checkedContentKey(undefined, undefined, 'a file')).toBeUndefined()
  })
})
