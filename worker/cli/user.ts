// The API server as the person at the command line reaches it: with the kubeconfig, the context and the rights that kubectl would use.

import type { KubeClient } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { type Config, readConfig } from '../server/config.ts'
import { singleLine } from './query/format.ts'
import { findDev } from './dev-folder.ts'
import { type ContextFlags, kubeconfigText, namespaceOf, readKubeconfigs } from './kubeconfig.ts'

/** Name in audit logs, and the manager of the fields that are written. */
export const CLI_USER_AGENT = 'pawl-cli'

export interface UserFlags extends ContextFlags {
  readonly dataDir?: string
}

/** The caller closes it. @throws UsageError where there is no kubeconfig, or no such context. */
export async function openUserClient(flags: UserFlags, config: Config): Promise<KubeClient> {
  return await openKubeconfig(await userKubeconfig(flags, config))
}

/** In the namespace that is meant. @throws as `openPerson`, and what `act` throws. */
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

/** The caller closes it. Loaded here: a command that reads nothing from a cluster does not load clients. @param kubeconfig as JSON. */
export async function openKubeconfig(kubeconfig: string): Promise<KubeClient> {
  const { createKubeClient } = await import('../../activities/kube/client.ts')
  return createKubeClient({ kubeconfig, userAgent: CLI_USER_AGENT })
}

/** Its text, with one context. @throws as `openPerson`. */
export async function userKubeconfig(flags: UserFlags, config: Config): Promise<string> {
  return kubeconfigText(await filesOf(flags, config), flags.context)
}

/** As kubectl, and where that finds none what a running `pawl dev` has written; that of a data folder that is named comes before. */
async function filesOf(flags: UserFlags, config: Config) {
  const isOfFolder = flags.dataDir !== undefined && flags.kubeconfig === undefined
  const found = isOfFolder ? [] : await readKubeconfigs(flags, config)
  if (found.length > 0) return found
  const state = await findDev(flags, config)
  return state === undefined ? [] : await readKubeconfigs({ kubeconfig: state.kubeconfig }, config)
}

/** As the API server knows the person. Older servers do not say. */
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
