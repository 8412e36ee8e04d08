// The same runs after a code change: one does not sleep any more, one has a bug.

import { condition } from '@temporalio/workflow'

export { same } from './before.ts'

export async function changing(): Promise<void> {
  await condition(() => false)
}

export function buggy(): Promise<void> {
  throw new Error('a bug')
}
