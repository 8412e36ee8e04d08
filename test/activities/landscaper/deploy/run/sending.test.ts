// Tests first attempts of items that continue in this process: the activity that joins an attempt can abort it.

import { describe, expect, it } from 'vitest'
import { resultOf, FirstAttempts } from '../../../../../activities/landscaper/deploy/run/item-activities.ts'

/** An attempt that fails when it is aborted, and never ends otherwise. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

describe('a joined attempt', () => {
  it.each([
    ['before it is cancelled', false],
    ['when it is cancelled already', true],
  ])('is aborted with the activity that joins it %s', async (_, isCancelled) => {
    const sending = new FirstAttempts()
    sending.begin('item', untilAborted)
    const activity = new AbortController()
    if (isCancelled) activity.abort()
    const end = resultOf(sending.take('item')!, activity.signal)
    activity.abort()
    await expect(end).rejects.toThrow('aborted')
  })
})
