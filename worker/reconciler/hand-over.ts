// Workers of two builds beside each other, as in a roll-out: what the new one wakes at its start may be looked at by the old one, which does as it always
// did. So a worker that stops wakes the objects of its controllers in level mode once more, when workers of another build stay behind. Source: docs/adr/0029.
//
//   H1. Temporal knows who asks a queue for work; a worker says there of which build it is.
//   H2. A worker that is killed hands over nothing: what it was at work on comes to others anyway, the rest at the next change.

import type { Client } from '@temporalio/client'
import { hostname } from 'node:os'

import { type Queues, queuesOf } from './queues.ts'
import { pollersOf } from './runs.ts'
import { type SweeperDeps, wakeLevels } from './sweeper.ts'

/** The name of this process in Temporal (H1). */
export function identityOf(build: string): string {
  return `${process.pid}@${hostname()}/${build}`
}

/** To be called when this process takes no work any more. @param build its own. */
export async function handOver(
  deps: SweeperDeps,
  options: Queues & { readonly cluster: string },
  build: string,
): Promise<void> {
  const { client, log, now, registry } = deps
  const names = (registry?.levels ?? []).map(({ name }) => name)
  const queues = names.flatMap((name) => queuesOf(options, name))
  if (await isOtherBuildThere({ client, now }, new Set(queues), build))
    await wakeLevels(deps, options, 'a worker stopped')
  else log.debug('no worker of another build is there')
}

async function isOtherBuildThere(
  { client, now }: { readonly client: Client; readonly now: () => Date },
  queues: ReadonlySet<string>,
  build: string,
): Promise<boolean> {
  for (const queue of queues) {
    const pollers = await pollersOf(client, queue, now())
    if (pollers.some((identity) => !identity.endsWith(`/${build}`))) return true
  }
  return false
}
