// Workflows as a worker of a former build has them: of the same names, and they wait for a wake that never tells them enough.

import { condition, defineSignal, setHandler } from '@temporalio/workflow'

const wake = defineSignal('wake')

async function wait(): Promise<void> {
  setHandler(wake, () => undefined)
  await condition(() => false)
}

export { wait as deploy, wait as execution, wait as installation }
