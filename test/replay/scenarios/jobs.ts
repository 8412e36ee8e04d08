// Scenarios of jobs whose items need no Target: they succeed, fail, are ended by other processes, and continue after
// Temporal has lost their runs.

import {
  CHAIN,
  type Cluster,
  failingItem,
  installation,
  type Item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../../support/cluster/cluster.ts'
import { Deployer } from '../../support/landscaper/deployer.ts'
import { create, leaving, type RunKind, type Scenarios, startedItem, workflowIDs } from './scenario.ts'

const kinds: readonly RunKind[] = ['installation']
const exportingChain: readonly Item[] = CHAIN.map((one) => ({ ...one, config: { export: { from: one.name } } }))

export const jobScenarios: Scenarios = {
  success: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, exportingChain)
      return await cluster.waitUntilFinished(name)
    },
  },
  failure: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, [
        failingItem('broken'),
        { name: 'blocked', dependsOn: ['broken'] },
        waitingItem('slow'),
      ])
      await cluster.finishItem(await startedItem(cluster, name, 'slow'), 'Succeeded')
      return await cluster.waitUntilFinished(name)
    },
  },
  cycle: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, [{ name: 'free' }, { name: 'a', dependsOn: ['b'] }, { name: 'b', dependsOn: ['a'] }])
      return await cluster.waitUntilFinished(name)
    },
  },
  'second-job': {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, CHAIN)
      const first = await cluster.waitUntilFinished(name)
      await cluster.trigger(name)
      return await cluster.waitUntilFinished(name, first.status?.jobID)
    },
  },
  deletion: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, CHAIN)
      const first = await cluster.waitUntilFinished(name)
      await cluster.delete('installations', name)
      const last = await leaving(cluster, 'installations', first)
      await cluster.waitUntilGone(name)
      return last
    },
  },
  // Another process replaces the job ID while an item runs.
  superseded: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, [waitingItem('slow')])
      const slow = await startedItem(cluster, name, 'slow')
      const running = await found(cluster, name)
      await cluster.patch('installations', name, { status: { jobID: 'other' } }, 'status')
      await cluster.patch('executions', name, { status: { jobID: 'other' } }, 'status')
      await cluster.finishItem(slow, 'Succeeded')
      return running
    },
  },
  // The runs are terminated; new runs continue from the phase that they observe.
  resumed: {
    kinds,
    async play({ cluster, client }, name) {
      await create(cluster, name, [waitingItem('slow')])
      const slow = await startedItem(cluster, name, 'slow')
      const ids = await workflowIDs(client, await found(cluster, name))
      for (const id of ids) await client.workflow.getHandle(id).terminate()
      await cluster.finishItem(slow, 'Succeeded')
      return await cluster.waitUntilFinished(name)
    },
  },
  interrupted: {
    kinds,
    async play({ cluster }, name) {
      const foreign = { name: 'foreign', type: 'example.org/nobody' }
      await create(cluster, name, [{ name: 'done' }, waitingItem('slow', ['done']), foreign])
      await startedItem(cluster, name, 'slow')
      await cluster.patch('installations', name, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
      return await cluster.waitUntilFinished(name)
    },
  },
  // No deployer picks up the first item; the other item is not affected.
  pickup: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, [{ name: 'alone', type: 'example.org/absent' }, waitingItem('own')])
      const own = await startedItem(cluster, name, 'own')
      await cluster.waitUntilItems(name, ['alone'], (item) => item?.status?.phase === 'Failed')
      await cluster.finishItem(own, 'Succeeded')
      return await cluster.waitUntilFinished(name)
    },
  },
  // The item that the Installation no longer lists is deleted first.
  orphan: {
    kinds,
    async play({ cluster }, name) {
      await create(cluster, name, CHAIN)
      const first = await cluster.waitUntilFinished(name)
      await cluster.patch('installations', name, installation(name, CHAIN.slice(0, 2)))
      return await cluster.waitUntilFinished(name, first.status?.jobID)
    },
  },
  // The deletion waits for a deployer until a user sets the annotation delete-without-uninstall.
  'without-uninstall': {
    kinds,
    async play({ cluster }, name) {
      const type = `example.org/${name}`
      const deployer = Deployer.start(cluster, type, { uninstall: () => 'wait' })
      await create(cluster, name, [{ name: 'base' }, { name: 'top', type, dependsOn: ['base'] }])
      const first = await cluster.waitUntilFinished(name)
      await cluster.delete('installations', name)
      await cluster.waitUntilItems(name, ['top'], (item) => item?.status?.phase === 'Deleting')
      await deployer.stop()
      const last = await leaving(cluster, 'installations', first)
      const annotations = { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' }
      await cluster.patch('installations', name, { metadata: { annotations } })
      await cluster.waitUntilGone(name)
      return last
    },
  },
}

async function found(cluster: Cluster, name: string): Promise<LsObject> {
  return (await cluster.get('installations', name)) as LsObject
}
