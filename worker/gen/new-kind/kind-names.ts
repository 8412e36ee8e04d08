// What a new kind and its parts are called.

export interface KindNames {
  /** `TimeTable`. */
  readonly kind: string
  /** `timeTable`. */
  readonly value: string
  readonly group: string
  readonly singular: string
  readonly plural: string
  readonly layout: 'checkout' | 'project'
  /** `workflows/example/time-table`; in a project `time-table`. */
  readonly folder: string
  /** `test/workflows/example/time-table`; in a project the same folder. */
  readonly testFolder: string
  /** From where the modules import the kit. */
  readonly kit: string
}
