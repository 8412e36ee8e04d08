// Simulates the disruption of a target without a process, such as a kwok pod of `pawl dev`: plans it for a machine with all abilities, and changes nothing.
//
//   S1. The plan reads facts about the target from the injector's own process, or assumes an ordinary node.
//   S2. A disruption that no injector of Pawl supports fails in a simulation too, so a simulation never promises what a cluster refuses.

import { commandText } from '../../../workflows/chaos/injector/command.ts'
import type { DiskFacts } from '../../../workflows/chaos/injector/plan.ts'
import type { NetworkFacts } from '../../../workflows/chaos/injector/network/network-spec.ts'
import type { Executor } from './executor.ts'
import type { Log } from './log.ts'

/** Replaces the control group of a container in a simulation. */
export const SIMULATED_GROUP = { version: 2 as const, folder: '/sys/fs/cgroup/GROUP-OF-THE-CONTAINER' }

/** A typical disk without limits. */
export const SIMULATED_DISK: DiskFacts = {
  device: '8:0',
  files: { version: 2, max: `${SIMULATED_GROUP.folder}/io.max` },
  before: { read: undefined, write: undefined },
}

/** The memory limit of the simulated container. */
export const SIMULATED_LIMIT_BYTES = 256 * 2 ** 20

/** The network of a typical pod. */
export const SIMULATED_LINKS: Pick<NetworkFacts, 'interfaces' | 'gateway'> = {
  interfaces: [
    { name: 'lo', qlen: 1000 },
    { name: 'eth0', qlen: 1000 },
  ],
}

export interface Simulation {
  readonly executor: Executor
  /** For the status of the pod: the commands that would have run. */
  readonly report: () => string
  /** Adds the reason why a plan could not be made. */
  readonly note: (why: string) => void
}

export function createSimulation(log: Log): Simulation {
  const would: string[] = []
  const notes: string[] = []
  return {
    executor: {
      perform: (command) => {
        // The target has no process: the plan uses the injector's own process instead.
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
