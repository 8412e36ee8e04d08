// How a kind explains the state of an object beyond its phase to users: for the commands `pawl why`, `get` and `trace`.

/** The explanation of an object's status; the object may be a projection, so every field may be missing. */
export interface StatusExplanation {
  /** The phase of a kind without `status.phase`. */
  readonly phase?: string
  /** The reason why the object waits or failed: one clause without a full stop. */
  readonly summary?: string
  /** The command of Pawl that ends the wait, such as `chaos resume -n team-a`. */
  readonly command?: string
  /** Objects that it deployed; their pods may have the reason. */
  readonly deployed?: readonly DeployedObject[]
  /** Labels of the Pods that it owns in its namespace; they may have the reason. */
  readonly ownPods?: Readonly<Record<string, string>>
}

/** An object on the cluster of a deployment. The uid tells whether a cluster has this object. */
export interface DeployedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/**
 * Pure. Takes the live object or its projection.
 *
 * @param namespaces the live Namespaces that the controller watches for the object; only `pawl why` reads them.
 */
export type ExplainStatus = (object: object, namespaces?: readonly object[]) => StatusExplanation
