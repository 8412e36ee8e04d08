// Scenarios of jobs of Installations with sub-installations: runs of the root, and of a sub-installation that got its
// job from the root.

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
  // The run of `app`, which waits for its sibling `db`.
  'tree-sibling': {
    kinds,
    async play(recorder, name) {
      await run(recorder, name)
      return await subOf(recorder, name, 'app')
    },
  },
  // The new blueprint does not contain the old sub-installations, which are deleted first, and adds another one.
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
  // The interrupt arrives while `db` runs and `app` waits for it.
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
  // The run of `db`, whose deletion waits until its importer `app` is deleted.
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

/** Deletes the root. @returns the root with the job of its deletion. */
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

/** Returns the item of `db` while it is Progressing. */
async function startedServer(recorder: Recorder, name: string): Promise<LsObject> {
  await waitUntil(async () => (await subsOf(recorder.cluster, name)).has('db'))
  const { metadata } = await subOf(recorder, name, 'db')
  return await startedItem(recorder.cluster, metadata.name, 'server')
}
