// Scenarios of jobs of root Installations that import from each other.

import { failingItem, type LsObject, waitingItem } from '../../support/cluster/cluster.ts'
import { root } from '../../support/landscaper/roots.ts'
import { leaving, type Recorder, type Scenarios } from './scenario.ts'

const kinds = ['installation'] as const

export const rootScenarios: Scenarios = {
  // The run of a root that waits for another root, and continues when the job of that root has ended.
  'root-waiting': {
    kinds,
    async play({ cluster }, name) {
      const [db, app] = [`${name}-db`, `${name}-app`]
      await cluster.create(root(db, { gives: db, items: [waitingItem('hold')] }), 'installations')
      const items = await cluster.waitUntilItems(db, ['hold'], (one) => one?.status?.phase === 'Progressing')
      await cluster.create(root(app, { takes: [db], gives: app }), 'installations')
      const isTold = (one: LsObject | undefined) => one?.status?.['conditions'] !== undefined
      const first = await cluster.waitUntil('installations', app, isTold)
      await cluster.finishItem(items.get('hold') as LsObject, 'Succeeded')
      // The exporter has requested another job of the importer, which starts after the recorded job.
      const second = await cluster.waitUntilFinished(app, first.status?.jobID)
      return { ...second, status: { ...second.status, jobID: first.status?.jobID ?? '' } }
    },
  },
  // The run of a root with exports that fails; it also looks for importers to start.
  'root-failing': {
    kinds,
    async play({ cluster }, name) {
      await cluster.create(root(name, { gives: name, items: [failingItem('bad')] }), 'installations')
      return await cluster.waitUntilFinished(name)
    },
  },
  // The run of a root whose deletion waits until its importer is deleted.
  'root-deletion': {
    kinds,
    async play({ cluster }: Recorder, name) {
      const app = `${name}-app`
      await cluster.create(root(name, { gives: name }), 'installations')
      const before = await cluster.waitUntilFinished(name)
      await cluster.create(root(app, { takes: [name] }), 'installations')
      await cluster.waitUntilFinished(app)
      await cluster.delete('installations', name)
      await cluster.waitUntil('installations', name, (one) => one?.status?.phase === 'InitDelete')
      await cluster.delete('installations', app)
      const last = await leaving(cluster, 'installations', before)
      await cluster.waitUntilGone(name)
      return last
    },
  },
}
