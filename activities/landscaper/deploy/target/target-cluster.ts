// A cluster to deploy to, as deployers see it: requests, and what kinds it serves. Opened from a Target by open-target.ts.

import type { Target } from '../../../../workflows/landscaper/target/kind.ts'
import type { KubeClient, KubeObject, Resource } from '../../../kube/client.ts'

/** How a cluster serves a kind. */
export interface ServedKind extends Resource {
  readonly kind: string
  readonly namespaced: boolean
}

/** The group of `<group>/<version>`; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}

export interface TargetCluster {
  readonly kube: KubeClient
  /**
   * How the cluster serves a kind; undefined when it does not. Remembered; a kind that is unknown is asked for again at most every second,
   * so that a CustomResourceDefinition that was just applied is found.
   *
   * @throws KubeError; DeployError with ERR_UNAUTHORIZED when the credentials are refused.
   */
  servedKind(apiVersion: string, kind: string, signal?: AbortSignal): Promise<ServedKind | undefined>
  /** Drops the cached kinds of the group, in all its versions: `servedKind` sends its next request after this call. */
  forgetKinds(apiVersion: string): void
}

export interface SecretKey {
  readonly name: string
  readonly key: string
}

/** A Target, and the Secret that it references. */
export interface TargetObjects {
  readonly target: Target
  /** Undefined: `spec.config` holds the access. */
  readonly secret: KubeObject | undefined
}

/** Runs after Target and Secret are read and before anything is sent to the cluster. @returns both as they are afterwards. */
export type BeforeUse = (objects: TargetObjects) => Promise<TargetObjects>

/** The clusters that Targets name. */
export interface TargetAccess {
  /**
   * The cluster of a Target, as Target and Secret are now; clients are kept and shared.
   *
   * @throws DeployError: `NoTargetFound` and `InvalidTarget` with ERR_CONFIGURATION_PROBLEM; without a code, hence retried, when the
   * engine's own API server does not answer, or the target's has just not answered.
   */
  open(namespace: string, name: string, signal?: AbortSignal, beforeUse?: BeforeUse): Promise<TargetCluster>
  /** The same of a key of a Secret with a kubeconfig, where there is no Target. @throws as `open`. */
  openSecret(namespace: string, secret: SecretKey, signal?: AbortSignal): Promise<TargetCluster>
  /**
   * The server that the kubeconfig of a Target names, without speaking to it; undefined where it has none (`selfConfig`).
   *
   * @throws as `open`.
   */
  serverOf(namespace: string, name: string, signal?: AbortSignal): Promise<string | undefined>
  close(): Promise<void>
}
