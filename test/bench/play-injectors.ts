// The node agent of a set, so that it only plays: chaos pods are ready at once and end well, and nothing is disturbed.

import { startPart } from '../../worker/dev/part.ts'
import type { Servers } from '../../worker/dev/servers.ts'

const AGENT = 'node-agent'

/** Starts it anew as such. */
export async function playInjectors(servers: Servers): Promise<void> {
  const agent = servers.parts.find(({ spec }) => spec.name === AGENT)
  if (agent === undefined) throw new Error(`the set has no ${AGENT}, expected one where the wing chaos is on`)
  await servers.drop(agent)
  const args = [...agent.spec.args, '--play', 'ready']
  // It makes nothing in its folder, and takes up what it finds.
  const isReady = () => Promise.resolve(true)
  await startPart({ ...agent.spec, args, isReady }, (part) => servers.add(part))
}
