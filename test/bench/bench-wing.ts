// A wing that a scenario has on in its set, and how the set is made ready for it.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Servers } from '../../worker/dev/servers.ts'
import { startPart } from '../../worker/dev/part.ts'
import type { GivenFlags } from '../../worker/server/flags.ts'

export interface BenchWing {
  /** As `--wings` has it. */
  readonly name: string
  /** Flags of the wing; their files go into the folder of the set. */
  readonly flagsIn: (folder: string) => Promise<GivenFlags>
  /** Called once all parts run. */
  readonly prepare: (servers: Servers) => Promise<void>
}

const AGENT = 'node-agent'

/** Disruptions whose injectors are only played. What is deleted is not held for the sake of metrics. */
export const PLAYED_CHAOS: BenchWing = {
  name: 'chaos',
  async flagsIn(folder) {
    const path = join(folder, 'chaos-config.yaml')
    await writeFile(path, JSON.stringify({ controller: { finalizerDeletionDelay: '0s' } }))
    return { 'chaos-config': path }
  },
  async prepare(servers) {
    const agent = servers.parts.find(({ spec }) => spec.name === AGENT)
    if (agent === undefined) throw new Error(`the set has no ${AGENT}, expected one where the wing chaos is on`)
    await servers.drop(agent)
    const args = [...agent.spec.args, '--play', 'ready']
    // It makes nothing in its folder, and takes up what it finds.
    const isReady = () => Promise.resolve(true)
    await startPart({ ...agent.spec, args, isReady }, (part) => servers.add(part))
  },
}
