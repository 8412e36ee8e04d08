// Jobs of Installations with sub-installations: of the root, and of a sub-installation that got its job from the root.

import { installation, type LsObject, OPERATION, waitingItem } from '../../support/cluster/cluster.ts'
import { deploying, exportingData, sub, subsOf } from '../../support/landscaper/sub-installations.ts'
import { leaving, type Recorder, type RunKind, type Scenarios, startedItem, waitUntil } from './scenario.ts'

const kinds: readonly RunKind[] = ['installation']

/** `app` imports what `db` exports. */
function tree(name: string) {
  const db = sub('db', {
    exports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: { ...deploying(waitingItem('server')), ...exportingData('address', 'here') },
  })
  const app = sub('app', {
    imports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: { imports: [{ name: 'address', type: 'data', schema: {} }], ...deploying({ name: 'web' }) },
  })
  return installation(name, [{ name: 'own' }], { blueprint: { subinstallations: [app, db] } })
}

export const treeScenarios: Scenarios = {
  tree: {
    kinds,
    play: async (recorder, name) => await run(recorder, name),
  },
  // Of one that waits for its sibling.
  'tree-sibling': {
    kinds,
    async play(recorder, name) {
      await run(recorder, name)
      return await subOf(recorder, name, 'app')
    },
  },
  // One sub-installation that the blueprint no longer has goes first, and another comes.
  'tree-edited': {
    kinds,
    async play(recorder, name) {
      const { cluster } = recorder
      const first = await run(recorder, name)
      const blueprint = { subinstallations: [sub('other', { blueprint: deploying({ name: 'a' }) })] }
      const { spec } = installation(name, [], { blueprint })
      await cluster.patch('installations', name, { spec, metadata: { annotations: { [OPERATION]: 'reconcile' } } })
      return await cluster.waitUntilFinished(name, first.status?.jobID)
    },
  },
  // One runs, the other waits for it.
  'tree-interrupted': {
    kinds,
    async play(recorder, name) {
      const { cluster } = recorder
      await cluster.create(tree(name), 'installations')
      await startedServer(recorder, name)
      await waitUntil(async () => (await subOf(recorder, name, 'app')).status?.phase === 'Init')
      await cluster.patch('installations', name, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
      return await cluster.waitUntilFinished(name)
    },
  },
  'tree-deletion': {
    kinds,
    async play(recorder, name) {
      await run(recorder, name)
      return await remove(recorder, name)
    },
  },
  // Of one that waits until who imports from it is gone.
  'tree-sibling-deletion': {
    kinds,
    async play(recorder, name) {
      await run(recorder, name)
      const { metadata } = await subOf(recorder, name, 'db')
      const { status } = await remove(recorder, name)
      return { metadata, status } as LsObject
    },
  },
}

async function run(recorder: Recorder, name: string): Promise<LsObject> {
  const { cluster } = recorder
  await cluster.create(tree(name), 'installations')
  await cluster.finishItem(await startedServer(recorder, name), 'Succeeded')
  return await cluster.waitUntilFinished(name)
}

/** @returns the root with the job of its deletion. */
async function remove({ cluster }: Recorder, name: string): Promise<LsObject> {
  const before = (await cluster.get('installations', name)) as LsObject
  await cluster.delete('installations', name)
  const last = await leaving(cluster, 'installations', before)
  await cluster.waitUntilGone(name)
  return last
}

async function subOf({ cluster }: Recorder, name: string, template: string): Promise<LsObject> {
  const found = (await subsOf(cluster, name)).get(template)
  if (found === undefined) throw new Error(`${name} has no sub-installation ${template}`)
  return found
}

/** The item of `db`, while it is worked on. */
async function startedServer(recorder: Recorder, name: string): Promise<LsObject> {
  await waitUntil(async () => (await subsOf(recorder.cluster, name)).has('db'))
  const { metadata } = await subOf(recorder, name, 'db')
  return await startedItem(recorder.cluster, metadata.name, 'server')
}
