set -u -f
cli=${HASHROUTE_REDIS_CLI:-redis-cli}
more=${HASHROUTE_REDIS_CLI_ARGS:-}
user=${HASHROUTE_REDIS_USER:-}
options=${HASHROUTE_MIGRATE_OPTIONS:-}
moved=0
clean=
clean_of=
newline='
'
trap 'echo "interrupted: run this script again to go on" >&2; exit 130' INT TERM HUP

fail() {
  printf 'error: %s\n' "$1" >&2
  printf 'hint: %s\n' "${2:-no key is lost: remove the cause, then run this script again to go on}" >&2
  exit 1
}

case " $more " in
  *' -a '*|*' --pass '*)
    fail 'HASHROUTE_REDIS_CLI_ARGS holds a password (-a or --pass), which every list of processes shows' \
      'put it into REDISCLI_AUTH instead' ;;
esac

# run N [WORD...]: sends a command to node N; without words, the commands on standard input.
run() {
  node "$1"; shift
  # shellcheck disable=SC2086 # the variable holds several options
  if [ -n "$user" ]; then
    $cli -h "$host" -p "$port" --user "$user" $more "$@"
  else
    $cli -h "$host" -p "$port" $more "$@"
  fi
}

# ask N WORD...: the answer of node N is in $answer.
ask() {
  answer=$(run "$@" </dev/null 2>&1) || refuse "$@"
}

# refuse N WORD...: stops because of $answer.
refuse() {
  node "$1"; shift
  case $answer in
    *NOAUTH*|*WRONGPASS*|*"AUTH failed"*)
      hint='set REDISCLI_AUTH to the password, and HASHROUTE_REDIS_USER to the user if it is not "default"' ;;
    *BUSYKEY*)
      hint='the target has this key, too: delete the copy that is wrong, or set HASHROUTE_MIGRATE_OPTIONS=REPLACE to keep that of the source' ;;
    *"Could not connect"*|*"Server closed the connection"*|*"I/O error"*)
      hint='start the server, or set HASHROUTE_REDIS_CLI_ARGS, such as "--tls --cacert ca.pem"; then run this script again' ;;
    *) hint='no key is lost: remove the cause, then run this script again to go on' ;;
  esac
  fail "$host:$port> $*: $(printf '%s' "$answer" | head -n 3)" "$hint"
}

# tell N WORD...: sends a command that must be answered by OK.
tell() { ask "$@"; [ "$answer" = OK ] || refuse "$@"; }

# tell_primary N WORD...: the same; a node that has become a replica needs no such command.
tell_primary() {
  ask "$@"
  case $answer in OK|*'SETSLOT only with'*) ;; *) refuse "$@" ;; esac
}

# state N SLOT: $state is what node N says of itself and a slot: role, owns or lacks it, mark.
state() {
  ask "$1" cluster nodes
  state=$(printf '%s\n' "$answer" | tr -d '\r' | awk -v slot="$2" '
    $3 ~ /(^|,)myself(,|$)/ {
      role = $3 ~ /(^|,)slave(,|$)/ ? "replica" : "primary"; owns = "lacks"; mark = "-"
      for (i = 9; i <= NF; i++) {
        if (substr($i, 1, 1) == "[") {
          split(substr($i, 2, length($i) - 2), part, "-[<>]-")
          if (part[1] == slot) mark = (index($i, "->-") ? "to:" : "from:") part[2]
        } else {
          ends = split($i, range, "-")
          if (slot + 0 >= range[1] + 0 && slot + 0 <= range[ends] + 0) owns = "owns"
        }
      }
      print role, owns, mark
    }')
  [ -n "$state" ] || refuse "$1" cluster nodes
}

# quoted TEXT: in double quotes, as redis-cli reads words on standard input.
quoted() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }

# empty SLOT FROM TO: moves all keys of a slot.
empty() {
  node "$3"; to_host=$host; to_port=$port
  auth=
  if [ -n "${REDISCLI_AUTH:-}" ]; then
    auth="AUTH $(quoted "$REDISCLI_AUTH")"
    [ -z "$user" ] || auth="AUTH2 $(quoted "$user") $(quoted "$REDISCLI_AUTH")"
  fi
  while :; do
    ask "$2" cluster countkeysinslot "$1"
    case $answer in 0) return ;; ''|*[!0-9]*) refuse "$2" cluster countkeysinslot "$1" ;; esac
    ask "$2" --no-raw cluster getkeysinslot "$1" "$batch"
    [ "$answer" != '(empty array)' ] || continue
    keys=$(printf '%s\n' "$answer" | sed 's/^ *[0-9][0-9]*) "/"/')
    case $keys in '"'*) ;; *) refuse "$2" cluster getkeysinslot "$1" "$batch" ;; esac
    # By standard input: a list of processes shows neither keys nor passwords.
    answer=$(printf 'MIGRATE %s %s "" 0 %s %s %s KEYS %s\n' "$(quoted "$to_host")" "$to_port" \
      "$timeout" "$options" "$auth" "$(printf '%s' "$keys" | tr '\n' ' ')" | run "$2" 2>&1)
    case $answer in OK|NOKEY) ;; *) refuse "$2" MIGRATE "$to_host" "$to_port" '(keys of slot' "$1)" ;; esac
  done
}

# learn N: $clean are the slots that node N owns and that have no mark, as it says now.
learn() {
  ask "$1" cluster nodes
  clean=$(printf '%s\n' "$answer" | tr -d '\r' | awk '
    $3 ~ /(^|,)myself(,|$)/ {
      for (i = 9; i <= NF; i++) {
        if (substr($i, 1, 1) == "[") { split(substr($i, 2), part, "-"); marked[part[1]] }
        else { ends = split($i, range, "-"); for (n = range[1]; n <= range[ends]; n++) owned[n + 0] }
      }
      printf " "
      for (n in owned) if (!(n in marked)) printf "%s ", n
    }')
  clean_of=$1
}

# move SLOT FROM TO: moves a slot with its keys. It may have begun or be done.
move() {
  slot=$1; from=$2; to=$3
  node "$from"; from_id=$id
  node "$to"; to_id=$id; to_place=$host:$port
  [ "$from" = "$clean_of" ] || learn "$from"
  case $clean in
    *" $slot "*) state='primary owns -' ;;
    *) state "$from" "$slot" ;;
  esac
  case $state in
    'primary owns -'|"primary owns to:$to_id") ;;
    *' owns '*)
      fail "slot $slot is on its way to another node than $to_place" 'plan again with slots plan TABLE --finish' ;;
    *)
      source=$state
      state "$to" "$slot"
      case $state in
        'primary owns '*) ;;
        *) fail "slot $slot is neither at its source nor at $to_place" 'print the table and plan again' ;;
      esac
      case $source in
        *' -') ;;
        *) tell_primary "$from" cluster setslot "$slot" node "$to_id" ;;
      esac
      moved=$((moved + 1))
      return ;;
  esac
  ask "$to" cluster setslot "$slot" importing "$from_id"
  case $answer in
    *'already the owner'*) ;;
    OK) give ;;
    *) refuse "$to" cluster setslot "$slot" importing "$from_id" ;;
  esac
  # A source that gave its last slot may have become a replica, which refuses the command.
  tell_primary "$from" cluster setslot "$slot" node "$to_id"
  for other in $nodes; do
    [ "$other" = "$from" ] || [ "$other" = "$to" ] || tell_primary "$other" cluster setslot "$slot" node "$to_id"
  done
  moved=$((moved + 1))
}

# give: moves the keys of $slot, which $to imports, and makes $to its owner.
give() {
  answer=$(printf 'CLUSTER SETSLOT %s MIGRATING %s\nCLUSTER COUNTKEYSINSLOT %s\n' \
    "$slot" "$to_id" "$slot" | run "$from" 2>&1)
  case $answer in
    "OK${newline}0") ;;
    "OK$newline"[1-9]*) empty "$slot" "$from" "$to" ;;
    *) refuse "$from" cluster setslot "$slot" migrating "$to_id" ;;
  esac
  tell "$to" cluster setslot "$slot" node "$to_id"
}

# add SLOT TO: gives a node a slot without an owner.
add() {
  state "$2" "$1"
  case $state in *' owns '*) ;; *) tell "$2" cluster addslots "$1" ;; esac
  moved=$((moved + 1))
}

# stable SLOT AT [OWNER]: removes a mark; keys of the slot go to its owner before.
stable() {
  state "$2" "$1"
  case $state in
    replica*|*' -') return ;;
    'primary lacks '*) [ -z "${3:-}" ] || empty "$1" "$2" "$3" ;;
  esac
  tell "$2" cluster setslot "$1" stable
}

# meet N AT: introduces node N to the cluster.
meet() {
  node "$1"; meet_host=$host; meet_port=$port; meet_id=$id
  tell "$2" cluster meet "$meet_host" "$meet_port"
  tries=0
  for other in $nodes; do
    [ "$other" != "$1" ] || continue
    until knows "$other" "$meet_id" && node "$other" && knows "$1" "$id"; do
      tries=$((tries + 1))
      [ "$tries" -le 60 ] || fail "$meet_host:$meet_port did not join the cluster within a minute" 'check that the servers reach the bus port of each other'
      sleep 1
    done
  done
}

# knows N ID: whether node N knows the node ID.
knows() {
  ask "$1" cluster nodes
  printf '%s\n' "$answer" | awk -v id="$2" '$1 == id && $3 !~ /handshake/ { found = 1 } END { exit !found }'
}

# Every address must lead to the server of the plan.
for n in $nodes; do
  ask "$n" cluster myid
  node "$n"
  [ "$answer" = "$id" ] || {
    case $answer in *' '*) refuse "$n" cluster myid ;; esac
    fail "$host:$port is the node $answer: expected $id" 'print the table and plan again'
  }
done
