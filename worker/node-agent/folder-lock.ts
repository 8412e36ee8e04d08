// The lock of a state folder: one node agent at a time uses it.

import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { identify, isRunning, type ProcessIdentity } from '../server/process-identity.ts'
import { bootId, isGone } from './processes.ts'

/** The file in the folder; it exists while an agent uses the folder. */
export const LOCK_FILE = 'agent.json'

interface Holder extends ProcessIdentity {
  readonly bootId: string
}

/**
 * Takes the lock, also from an agent that has ended. Returns a function that releases it. @throws with the agent that
 * holds the lock.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK_FILE)
  const own = `${path}.${process.pid}`
  const holder = { ...(identify(process.pid) ?? { pid: process.pid, started: null }), bootId: await bootId() }
  await writeFile(own, JSON.stringify(holder satisfies Holder))
  try {
    for (;;) {
      // A link is created atomically, so no reader sees a partial file.
      if (await isLinked(own, path)) return async () => await rm(path, { force: true })
      const other = await holderIn(path)
      if (other !== undefined && other.bootId === (await bootId()) && isRunning(other))
        throw new Error(
          `${folder}: the node agent with process ${other.pid} uses this folder; stop that agent, or choose another folder`,
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
