// The interface of deployers to a cluster: requests, and the kinds that it serves. open-target.ts opens it from a Target.

import type { Target } from '../../../../workflows/landscaper/target/kind.ts'
import type { KubeClient, KubeObject, Resource } from '../../../kube/client.ts'

/** A kind as a cluster serves it. */
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
   * The kind as the cluster serves it; undefined when it does not. Cached; an unknown kind is requested again at most every second, so that a
   * CustomResourceDefinition that was just applied is found.
   *
   * @throws KubeError; DeployError with ERR_UNAUTHORIZED when the credentials are rejected.
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
  /** Undefined: `spec.config` has the access. */
  readonly secret: KubeObject | undefined
}

/** Runs after Target and Secret are read and before anything is sent to the cluster. @returns both in their state afterwards. */
export type BeforeUse = (objects: TargetObjects) => Promise<TargetObjects>

/** Opens the clusters of Targets. */
export interface TargetAccess {
  /**
   * Opens the cluster of a Target with the current Target and Secret; clients are cached and shared.
   *
   * @throws DeployError: `NoTargetFound` and `InvalidTarget` with ERR_CONFIGURATION_PROBLEM; without a code, hence retried, when the engine's own API
   * server does not answer, or the target's has recently not answered.
   */
  open(namespace: string, name: string, signal?: AbortSignal, beforeUse?: BeforeUse): Promise<TargetCluster>
  /** Opens the cluster of a kubeconfig in a Secret, without a Target. @throws like `open`. */
  openSecret(namespace: string, secret: SecretKey, signal?: AbortSignal): Promise<TargetCluster>
  /**
   * The server in the kubeconfig of a Target, without a connection; undefined for `selfConfig`.
   *
   * @throws like `open`.
   */
  serverOf(namespace: string, name: string, signal?: AbortSignal): Promise<string | undefined>
  close(): Promise<void>
}
