// Opens a client of the API server for the user at the command line, with the kubeconfig, context and permissions that
// kubectl would use.

import type { KubeClient } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { type Config, readConfig } from '../server/config.ts'
import { singleLine } from './query/format.ts'
import { findDev } from './dev-folder.ts'
import { type ContextFlags, kubeconfigText, namespaceOf, readKubeconfigs } from './kubeconfig.ts'

/** User agent in audit logs, and field manager of writes. */
export const CLI_USER_AGENT = 'pawl-cli'

export interface UserFlags extends ContextFlags {
  readonly dataDir?: string
}

/** The caller closes the client. @throws UsageError if no kubeconfig or no such context is found. */
export async function openUserClient(flags: UserFlags, config: Config): Promise<KubeClient> {
  return await openKubeconfig(await userKubeconfig(flags, config))
}

/** Calls `act` with a client and the selected namespace. @throws the errors of `openUserClient` and `act`. */
export async function withUserClient<T>(
  flags: UserFlags,
  act: (kube: KubeClient, namespace: string) => Promise<T>,
): Promise<T> {
  const config = readConfig()
  const namespace = await namespaceOf(flags, config)
  const kube = await openUserClient(flags, config)
  try {
    return await act(kube, namespace)
  } finally {
    await kube.close()
  }
}

/**
 * The caller closes the client. The module is imported here, so that commands without a cluster do not load it. @param
 * kubeconfig as JSON.
 */
export async function openKubeconfig(kubeconfig: string): Promise<KubeClient> {
  const { createKubeClient } = await import('../../activities/kube/client.ts')
  return createKubeClient({ kubeconfig, userAgent: CLI_USER_AGENT })
}

/** The kubeconfig as JSON with one context. @throws the errors of `openUserClient`. */
export async function userKubeconfig(flags: UserFlags, config: Config): Promise<string> {
  return kubeconfigText(await filesOf(flags, config), flags.context)
}

/**
 * The files that kubectl would read; else the kubeconfig of a running `pawl dev`. An explicit --data-dir comes first.
 */
async function filesOf(flags: UserFlags, config: Config) {
  const isOfFolder = flags.dataDir !== undefined && flags.kubeconfig === undefined
  const found = isOfFolder ? [] : await readKubeconfigs(flags, config)
  if (found.length > 0) return found
  const state = await findDev(flags, config)
  return state === undefined ? [] : await readKubeconfigs({ kubeconfig: state.kubeconfig }, config)
}

/** The user name as the API server knows it; "somebody" for servers without SelfSubjectReview. */
export async function userName(kube: Pick<KubeClient, 'request'>): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  try {
    const { status } = await kube.request<{ readonly status?: { readonly userInfo?: { readonly username?: string } } }>(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      { body },
    )
    return singleLine(status?.userInfo?.username ?? 'somebody', 200)
  } catch (error) {
    if (error instanceof KubeError && (error.status === 403 || error.status === 404)) return 'somebody'
    throw error
  }
}
