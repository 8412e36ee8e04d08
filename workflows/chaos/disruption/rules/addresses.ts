// Which texts are addresses. Pure: the sandbox has no node:net.

/** Four numbers up to 255, without leading zeros. */
export function isIPv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

/** Source: RFC 4291, 2.2; without zones. */
export function isIPv6(text: string): boolean {
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return false
  const last = (tail ?? head).split(':').at(-1) ?? ''
  const isMixed = last.includes('.')
  if (isMixed && !isIPv4(last)) return false
  const groups = [...groupsOf(head), ...groupsOf(tail ?? '')]
  const hexGroups = isMixed ? groups.slice(0, -1) : groups
  const count = hexGroups.length + (isMixed ? 2 : 0)
  return hexGroups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) && (tail === undefined ? count === 8 : count < 8)
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':')
}
