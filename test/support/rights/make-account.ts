// Accounts with few rights, for the processes of a test.

import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Cluster } from '../cluster/cluster.ts'
import type { TestServers } from '../servers/servers.ts'

// Longer than any test or bench.
const TOKEN_SECONDS = 86_400

/** Makes a ServiceAccount, which has no right yet. @returns the path of a kubeconfig with its token. */
export async function makeAccount(
  { kubeconfigPath }: Pick<TestServers, 'kubeconfigPath'>,
  { kube, namespace }: Pick<Cluster, 'kube' | 'namespace'>,
  name: string,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
  await kube.request('POST', path, { body: { metadata: { name } } })
  const { status } = await kube.request<{ status: { token: string } }>('POST', `${path}/${name}/token`, {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: TOKEN_SECONDS } },
  })
  const admin = JSON.parse(await readFile(kubeconfigPath, 'utf8')) as { users: { user: object }[] }
  const users = admin.users.map((one) => ({ ...one, user: { token: status.token } }))
  const file = join(await mkdtemp(join(tmpdir(), 'pawl-account-')), name)
  await writeFile(file, JSON.stringify({ ...admin, users }), { mode: 0o600 })
  return file
}
