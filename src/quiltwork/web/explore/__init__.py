"""The work behind the pages: functions of plain values that give plain JSON values, run in a worker of their own."""
