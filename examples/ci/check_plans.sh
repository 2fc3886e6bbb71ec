#!/bin/sh
# Account every plan file, and say what each one costs more or less than on another branch.
#
#   sh check_plans.sh plans/*.yaml                             account only
#   BASE=origin/main sh check_plans.sh plans/*.yaml            and compare with that branch
#   BASE=origin/main MOST=0.1 sh check_plans.sh plans/*.yaml   and refuse what grows by more than that
#   REPORTS=build/privacy sh check_plans.sh plans/*.yaml       and leave one page for each file there
#
# Exit code: 0 every target is met; 1 one is missed, or grows too much; 2 a file cannot be read.
set -u
worst=0
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
if [ -n "${BASE:-}" ]; then # the whole folder: a plan may read tables beside it
    git archive --output="$before/all.tar" "$BASE" && tar -xf "$before/all.tar" -C "$before" || exit 2
fi

note() {
    [ "$1" -le "$worst" ] || worst=$1
    [ "$1" -eq 0 ] || echo "== $2: exit code $1"
}

for plan in "$@"; do
    echo "== account $plan"
    if [ -n "${REPORTS:-}" ]; then
        mkdir -p "$REPORTS"
        page=$REPORTS/$(echo "$plan" | tr '/' '-' | sed 's/\.[^.]*$//').html
        quiltwork account "$plan" --html "$page"
    else
        quiltwork account "$plan"
    fi
    note $? "account $plan"
    old=$before/$plan
    if [ -n "${BASE:-}" ] && [ -f "$old" ]; then
        echo "== diff $BASE $plan"
        quiltwork diff "$old" "$plan" ${MOST:+--at-most-more "$MOST"}
        note $? "diff $plan"
    fi
done
exit "$worst"
