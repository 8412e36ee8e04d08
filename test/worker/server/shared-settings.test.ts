import { describe, expect, it } from 'vitest'

import { checkedContentKey } from '../../../worker/server/shared-settings.ts'

describe('the content key', () => {
  it('is required for controllers in level mode, of users or of wings', () => {
    expect(() => checkedContentKey(undefined, 'controller timeTable in level mode', 'a file')).toThrow(
      '--content-key is missing; controller timeTable in level mode needs it; expected a file',
    )
    expect(checkedContentKey('key', 'controller timeTable in level mode', 'a file')).toBe('key')
  })

  it('is optional for controllers in job mode', () => {
    expect(checkedContentKey(undefined, undefined, 'a file')).toBeUndefined()
  })
})
