// Workflows of a previous build: they have the same names and wait forever, because they ignore the signal `wake`.

import { condition, defineSignal, setHandler } from '@temporalio/workflow'

const wake = defineSignal('wake')

async function wait(): Promise<void> {
  setHandler(wake, () => undefined)
  await condition(() => false)
}

export { wait as deploy, wait as execution, wait as installation }
