// A disruption of a target without a process, as simulated pods of `pawl dev` are: it is planned for a machine that can do everything, and nothing is done.
//
//   S1. What a plan needs to know of the target is that of the injector's own process, or what it would be on a usual node.
//   S2. What no injector of Pawl can do fails as it does everywhere: a simulation promises nothing that a cluster would refuse.

import { commandText } from '../../../workflows/chaos/injector/command.ts'
import type { DiskFacts } from '../../../workflows/chaos/injector/plan.ts'
import type { NetworkFacts } from '../../../workflows/chaos/injector/network/network-spec.ts'
import type { Executor } from './executor.ts'
import type { Log } from './log.ts'

/** Stands for the control group of a container. */
export const SIMULATED_GROUP = { version: 2 as const, folder: '/sys/fs/cgroup/GROUP-OF-THE-CONTAINER' }

/** The disk of a usual node, without limits. */
export const SIMULATED_DISK: DiskFacts = {
  device: '8:0',
  files: { version: 2, max: `${SIMULATED_GROUP.folder}/io.max` },
  before: { read: undefined, write: undefined },
}

/** The limit of the memory of a container. */
export const SIMULATED_LIMIT_BYTES = 256 * 2 ** 20

/** The network of a usual pod. */
export const SIMULATED_LINKS: Pick<NetworkFacts, 'interfaces' | 'gateway'> = {
  interfaces: [
    { name: 'lo', qlen: 1000 },
    { name: 'eth0', qlen: 1000 },
  ],
}

export interface Simulation {
  readonly executor: Executor
  /** For the status of the pod: what would have been done. */
  readonly report: () => string
  /** Notes why a plan could not be made here. */
  readonly note: (why: string) => void
}

export function createSimulation(log: Log): Simulation {
  const would: string[] = []
  const notes: string[] = []
  return {
    executor: {
      perform: (command) => {
        // No process of the target exists: that of the plan stands for it.
        const text =
          command.do === 'signal'
            ? `send ${command.signal} to the first process of the container`
            : commandText(command)
        log.info('simulated: would do', { command: text })
        if (!would.includes(text)) would.push(text)
        return Promise.resolve()
      },
    },
    note: (why) => notes.push(why),
    report: () =>
      [
        'simulated: the target has no process, so nothing is disturbed',
        ...(would.length === 0 ? [] : [`the injector would run: ${would.join('; ')}`]),
        ...notes.map((why) => `not planned here: ${why}`),
      ].join('; '),
  }
}
