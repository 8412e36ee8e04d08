// Jobs of roots that import from each other.

import { failingItem, type LsObject, waitingItem } from '../../support/cluster/cluster.ts'
import { root } from '../../support/landscaper/roots.ts'
import { leaving, type Recorder, type Scenarios } from './scenario.ts'

const kinds = ['installation'] as const

export const rootScenarios: Scenarios = {
  // Of one that waits for another, and goes on when that has ended.
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
      // It was asked for another job, which it has after this one.
      const second = await cluster.waitUntilFinished(app, first.status?.jobID)
      return { ...second, status: { ...second.status, jobID: first.status?.jobID ?? '' } }
    },
  },
  // Of one that fails, and starts those that import from it all the same.
  'root-failing': {
    kinds,
    async play({ cluster }, name) {
      await cluster.create(root(name, { gives: name, items: [failingItem('bad')] }), 'installations')
      return await cluster.waitUntilFinished(name)
    },
  },
  // Of one that waits until who imports from it is gone.
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
