import { describe, expect, it } from 'vitest'

import { confirmWith } from '../../../worker/cli/confirm.ts'
import { UsageError } from '../../../worker/server/usage-error.ts'

describe('a question before a change', () => {
  it('is not asked with --yes, and is a wrong use without a terminal', async () => {
    expect(await confirmWith(true)('Remove it?')).toBe(true)
    const refusal = new UsageError('--yes is missing: without a terminal, the command cannot ask "Remove it?"')
    await expect(confirmWith(false)('Remove it?')).rejects.toEqual(refusal)
  })
})
