// Runs that wait for a signal, with their original code.

import { condition, defineSignal, setHandler, sleep } from '@temporalio/workflow'

export const go = defineSignal('go')

async function toGo(): Promise<void> {
  let mayGo = false
  setHandler(go, () => void (mayGo = true))
  await condition(() => mayGo)
}

export async function changing(): Promise<void> {
  await sleep(1)
  await toGo()
}

export async function same(): Promise<void> {
  await sleep(1)
  await toGo()
}

export async function buggy(): Promise<void> {
  await sleep(1)
  await toGo()
}
