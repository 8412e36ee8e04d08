// The processes of a node agent, for tests that expect their end.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'

import { PodFolder } from '../../../worker/node-agent/pod-folder.ts'
import { isRunning, type ProcessIdentity } from '../../../worker/server/process-identity.ts'
import { PATIENCE } from './clusters.ts'

/** The identities of the running processes of all containers. @param state the folder of the node agent. */
export async function runningProcesses(state: string): Promise<readonly ProcessIdentity[]> {
  const pods = join(state, 'pods')
  const found = await Promise.all(
    (await readdir(pods)).map(async (uid) => {
      const containers = await readdir(join(pods, uid, 'containers'))
      return await Promise.all(
        containers.map(async (name) => {
          const folder = new PodFolder(join(pods, uid)).container(name)
          return (await folder.run((await folder.lastRun()) ?? 0).traces()).process
        }),
      )
    }),
  )
  return found.flat().filter((one) => one !== undefined && isRunning(one)) as readonly ProcessIdentity[]
}

/** Waits until the node agent has no pod and no volume, and expects that none of the processes runs. */
export async function untilNothingRuns(state: string, processes: readonly ProcessIdentity[]): Promise<void> {
  await vi.waitFor(async () => expect(await readdir(join(state, 'pods'))).toEqual([]), PATIENCE)
  expect(processes.filter((one) => isRunning(one))).toEqual([])
  await vi.waitFor(async () => expect(await readdir(join(state, 'volumes'))).toEqual([]), PATIENCE)
}
