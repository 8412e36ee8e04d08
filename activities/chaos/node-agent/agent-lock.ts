// One agent for a folder: two would start, end and sweep each other's processes.

import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { bootId, isGone } from '../injector/processes.ts'
import { isThere, ownProcess } from './processes.ts'

interface Holder extends ProcessRef {
  readonly bootId: string
}

/** Takes the lock, also from an agent that is gone. Returns how it is given back. @throws with the agent that has it. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'agent.json')
  const own = `${path}.${process.pid}`
  await writeFile(own, JSON.stringify({ ...(await ownProcess()), bootId: await bootId('/proc') } satisfies Holder))
  try {
    for (;;) {
      // A link is made, or is there: nobody sees half of it.
      if (await isLinked(own, path)) return async () => await rm(path, { force: true })
      const holder = await holderIn(path)
      if (holder !== undefined && holder.bootId === (await bootId('/proc')) && (await isThere(holder)))
        throw new Error(
          `${folder}: found it taken by the node agent with process ${holder.pid}, expected no other agent`,
        )
      await rm(path, { force: true })
    }
  } finally {
    await rm(own, { force: true })
  }
}

async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function holderIn(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}
