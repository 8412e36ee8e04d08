// Whose failure it is when a wake cannot be dispatched: that of a server, which all wakes share and /readyz tells, or of the one wake. A subject that
// no run can be started for must not make a worker look ill: others would be taken out of service with it.

const INVALID_ARGUMENT = 3
const UNKNOWN = 2

/** Whether Temporal is what failed, for whichever wake comes next. Missing search attributes are: no run can be started then. */
export function isOfTemporal(error: unknown): boolean {
  const found = grpcStatus(error)
  if (found === undefined) return false
  if (found.code === UNKNOWN) return false
  return found.code !== INVALID_ARGUMENT || /search attribute/i.test(found.text)
}

/** Of the service's answer, however deep the client has wrapped it. */
function grpcStatus(error: unknown): { readonly code: number; readonly text: string } | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if ('code' in at && typeof at.code === 'number') return { code: at.code, text: at.message }
  return undefined
}
