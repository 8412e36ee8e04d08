/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** As in CRDs: `.status.phase`. */
  readonly jsonPath: string
  /** Above 0 the column is shown by `kubectl get -o wide` only. */
  readonly priority?: number
}
