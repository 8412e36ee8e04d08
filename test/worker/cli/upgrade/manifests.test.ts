// The comparison of roles in a cluster with those of another build and with given manifests.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { manifestFindings } from '../../../../worker/cli/upgrade/manifests.ts'
import { TinyApi } from '../../../activities/kube/tiny-api.ts'

const NAME = 'pawl-worker-landscaper'
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['create'] })
const role = (name: string, ...resources: readonly string[]) => {
  const rules = resources.map(rule)
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules }
}

let folder: string
let api: TinyApi
let kube: KubeClient

/** Writes a manifest below the folder. @returns its path. */
async function write(path: string, object: object): Promise<string> {
  const file = join(folder, path)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, JSON.stringify(object))
  return file
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-upgrade-'))
  api = await TinyApi.start()
  kube = createKubeClient({ kubeconfigPath: await writeText('kubeconfig', api.kubeconfig), userAgent: 'test' })
  await mkdir(join(folder, 'deploy/crds'), { recursive: true })
  await write('deploy/rbac/landscaper/worker.yaml', role(NAME, 'secrets'))
})
afterAll(async () => {
  await kube.close()
  await api.stop()
  await rm(folder, { recursive: true })
})

async function writeText(path: string, text: string): Promise<string> {
  await writeFile(join(folder, path), text)
  return join(folder, path)
}

const rolesIn = async (...files: readonly string[]) =>
  (await manifestFindings(kube, folder, files)).filter(({ part }) => part === 'roles')

describe('the roles of the cluster', () => {
  it('cannot be compared if their names differ, such as the names in the chart', async () => {
    api.put(`${ROLES}/pawl:${NAME}`, role(`pawl:${NAME}`, 'secrets'))
    expect(await rolesIn()).toMatchObject([
      {
        verdict: 'skipped',
        text: expect.stringContaining('the output of pawl gen rbac or of helm template') as string,
      },
    ])
    const chart = await write('chart.yaml', role(`pawl:${NAME}`, 'secrets'))
    expect(await rolesIn(chart)).toMatchObject([{ verdict: 'ok' }])
  })

  it('are compared with a given role instead of the role of the build with its name', async () => {
    api.put(`${ROLES}/${NAME}`, role(NAME, 'secrets', 'events'))
    expect(await rolesIn()).toMatchObject([
      { verdict: 'warn', text: expect.stringContaining('it no longer needs create events') as string },
    ])
    const generated = await write('rbac.yaml', role(NAME, 'secrets', 'events'))
    expect(await rolesIn(generated)).toEqual([
      { part: 'roles', verdict: 'ok', text: '1 compared; all have the same permissions' },
    ])
    const more = await write('more.yaml', role(NAME, 'secrets', 'events', 'pods'))
    expect(await rolesIn(more)).toMatchObject([
      { verdict: 'warn', text: expect.stringContaining('the new version also needs create pods') as string },
    ])
  })
})
